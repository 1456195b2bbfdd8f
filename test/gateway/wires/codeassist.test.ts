import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import { Desk, type Json, output } from '../../support/gateway/requests.ts';
import { describeWire } from '../../support/gateway/wire-suite.ts';

const contentsOf = (body: Json): Json[] => (body.request as { contents: Json[] }).contents;

/** As Gemini CLI 0.61 sends it with a Google login. */
function body(turns: number, text: (turn: number) => string): Json {
  const contents: Json[] = [{ role: 'user', parts: [{ text: 'Fix the failing test in src/app.ts' }] }];
  for (let turn = 1; turn <= turns; turn++)
    contents.push(
      { role: 'model', parts: [{ functionCall: { id: `c${turn}`, name: 'read_file', args: { path: `${turn}.ts` } } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { id: `c${turn}`, name: 'read_file', response: { output: text(turn) } } }],
      },
    );
  return {
    model: 'gemini-2.5-pro',
    project: 'a-project',
    user_prompt_id: 'a-prompt',
    request: {
      contents,
      systemInstruction: { role: 'user', parts: [{ text: 'You are a coding agent.' }] },
      tools: [{ functionDeclarations: [{ name: 'read_file' }] }],
      session_id: 'a-session',
    },
  };
}

const RESPONSE = {
  candidates: [],
  usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 7, cachedContentTokenCount: 896 },
  modelVersion: 'gemini-2.5-pro',
};
const ANSWER = JSON.stringify({ response: RESPONSE, traceId: 'a-trace' });

const path = (name: string) => ({ sent: `/v1internal:${name}`, got: `/v1internal:${name}` });

describeWire({
  api: 'codeassist',
  path: path('generateContent'),
  streamedPath: {
    sent: '/codeassist/v1internal:streamGenerateContent?alt=sse',
    got: '/v1internal:streamGenerateContent?alt=sse',
  },
  countPath: path('countTokens'),
  model: 'gemini-2.5-pro',
  prices: 'gemini',
  body,
  streamed: {},
  messages: contentsOf,
  results: (sent) =>
    contentsOf(sent).flatMap(({ parts }) =>
      (parts as { functionResponse?: { response: { output: string } } }[]).flatMap(({ functionResponse }) =>
        functionResponse ? [functionResponse.response.output] : [],
      ),
    ),
  answer: { type: 'application/json; charset=UTF-8', text: ANSWER },
  stream: { type: 'text/event-stream', text: `data: ${ANSWER}\n\n` },
  usage: { tokens: 1000, cached: 896, completionTokens: 7 },
});

describe('the paths of Gemini CLI with a Google login', () => {
  it.each(['/v1internal:loadCodeAssist', '/v1internal:retrieveUserQuota', '/v1internal:listExperiments'])(
    '%s passes through to its host',
    (url) => {
      expect(routeOf({ method: 'POST', url, headers: {} })).toMatchObject({ provider: 'codeassist', api: undefined });
    },
  );
});

describe('a request inside another', () => {
  const read = (text: string) => new Desk().ask(text, { api: 'codeassist', path: '/v1internal:generateContent' });
  const json = JSON.stringify(body(8, output));

  it('has the model that its size is asked for by another name', () => {
    const { model: _beside, ...count } = body(8, output);
    const asked = read(
      JSON.stringify({ ...count, request: { ...(count.request as Json), model: 'models/gemini-2.5-pro' } }),
    );
    expect(asked.explanation.model).toBe('gemini-2.5-pro');
  });

  it.each([
    ['not-json', json.slice(0, -1)],
    ['not-json', json.replace('"session_id":"a-session"}', '"session_id":"a-session"')],
    ['duplicate-keys', json.replace('"session_id":', '"contents":[],"session_id":')],
    ['duplicate-keys', json.replace('"project":', '"request":{},"project":')],
    ['unknown-format', JSON.stringify({ model: 'gemini-2.5-pro', request: [] })],
    ['unknown-format', JSON.stringify({ model: 'gemini-2.5-pro', contents: [] })],
  ])('passes through with the reason %s where it is odd (%#)', (reason, text) => {
    expect(read(text).explanation).toMatchObject({ act: 'pass-through', reason });
  });
});

describe('the session of a request with a Google login', () => {
  it('is named by session_id', () => {
    const sessionOf = (id: string, turns: number): string => {
      const sent = body(turns, output);
      const request = { ...(sent.request as Json), session_id: id };
      const place = { api: 'codeassist', path: '/v1internal:generateContent' } as const;
      return new Desk().ask(JSON.stringify({ ...sent, request }), place).session;
    };
    expect(sessionOf('one', 3)).toBe(sessionOf('one', 2));
    expect(sessionOf('two', 2)).not.toBe(sessionOf('one', 2));
  });
});
