import { describe, expect, it } from 'vitest';
import { decide, newMasks, openRequest } from '../../../src/gateway/decide/decide.ts';
import { isPlaceholder, type Policy, slidingWindow } from '../../../src/index.ts';
import {
  type Asked,
  anthropicBody,
  anthropicMessages,
  Desk,
  marked,
  maskedIn,
  output,
  parsed,
  requestOf,
  resultsIn,
} from '../../support/gateway/requests.ts';

describe('decide', () => {
  it('sends a short conversation as it came', () => {
    const desk = new Desk();
    const asked = desk.ask(anthropicBody(anthropicMessages(3)));
    expect(asked.body).toBeUndefined();
    expect(asked.explanation).toMatchObject({ act: 'wait', masked: 0, prices: { name: 'anthropic-5m' } });
  });

  it('masks old results of a long one once it pays, and waits in between', () => {
    const desk = new Desk();
    const acts: string[] = [];
    let last = desk.ask(anthropicBody(anthropicMessages(1)));
    for (let turn = 2; turn <= 40; turn++) {
      last = desk.ask(anthropicBody(anthropicMessages(turn)));
      acts.push(last.explanation.act);
    }
    expect(acts).toContain('mask');
    expect(acts.filter((act) => act === 'wait').length).toBeGreaterThan(25);
    expect(maskedIn(last.out).filter(Boolean).length).toBeGreaterThan(5);
    expect(last.explanation.masked).toBe(maskedIn(last.out).filter(Boolean).length);
    for (const content of resultsIn(parsed(last.out)).slice(0, 3)) expect(isPlaceholder(content as string)).toBe(true);
  });
});

describe('what is known from the request before', () => {
  const policy = (steps: number[]) => () => {
    const inner = slidingWindow({ turns: 2 });
    const step: Policy['step'] = (state, request) => {
      steps.push(request.turns);
      return inner.step(state, request);
    };
    return { ...inner, step };
  };

  it('a request that extends a known one is decided once, not from the start', () => {
    const steps: number[] = [];
    const desk = new Desk({ policy: policy(steps) });
    desk.ask(anthropicBody(anthropicMessages(30)));
    steps.length = 0;
    desk.ask(anthropicBody(anthropicMessages(31)));
    expect(steps).toHaveLength(1);
    desk.ask(anthropicBody(anthropicMessages(31)));
    expect(steps).toHaveLength(1);
  });

  it('markers that move and texts that become lists make no difference', () => {
    const steps: number[] = [];
    const desk = new Desk({ policy: policy(steps) });
    const messages = anthropicMessages(10);
    const first = desk.ask(anthropicBody(messages));
    steps.length = 0;
    const asList = messages.map(({ role, content }) => ({
      role,
      content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    }));
    const second = desk.ask(anthropicBody([], { messages: marked(asList.slice(0, 4)).concat(asList.slice(4)) }));
    expect(second.conversation).toBe(first.conversation);
    expect(steps).toHaveLength(0);
    expect(second.explanation.masked).toBe(8);
  });

  it('two branches of one conversation go on side by side', () => {
    const desk = new Desk({ policy: () => slidingWindow({ turns: 2 }) });
    const messages = anthropicMessages(12);
    const branch = [...messages.slice(0, 17), { role: 'user', content: 'Stop. Do it otherwise.' }];
    for (let turns = 4; turns <= 8; turns++) desk.ask(anthropicBody(messages.slice(0, 2 * turns + 1)));
    const other = desk.ask(anthropicBody(branch));
    const main = desk.ask(anthropicBody(messages));
    expect(main.conversation).toBe(other.conversation);
    expect(maskedIn(main.out).filter(Boolean)).toHaveLength(10);
    expect(maskedIn(other.out).filter(Boolean)).toHaveLength(6);
  });

  it('a history that the client edited is another conversation from there on', () => {
    const desk = new Desk({ policy: () => slidingWindow({ turns: 2 }) });
    desk.ask(anthropicBody(anthropicMessages(10)));
    const edited = anthropicMessages(10).map((message, i) =>
      i === 2
        ? { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0001', content: 'cleared' }] }
        : message,
    );
    const asked = desk.ask(anthropicBody(edited));
    expect(resultsIn(parsed(asked.out))[0]).toBe('cleared');
    expect(asked.explanation.masked).toBe(7);
  });

  it('a request that waited while another went on with its branch is planned anew', () => {
    const desk = new Desk({ policy: () => slidingWindow({ turns: 2 }) });
    desk.ask(anthropicBody(anthropicMessages(6)));
    const slow = openRequest(requestOf(anthropicBody(anthropicMessages(7))), desk.memory);
    const quick = desk.ask(anthropicBody(anthropicMessages(8)));
    const late = decide(slow, desk.memory, { ...desk.facts, now: desk.now });
    expect(maskedIn(late.body ?? Buffer.alloc(0))).toEqual([true, true, true, true, true, false, false]);
    expect(maskedIn(quick.out).filter(Boolean)).toHaveLength(6);
  });

  it('the system prompt may change without a new plan, as long as it is about as long', () => {
    const steps: number[] = [];
    const desk = new Desk({ policy: policy(steps) });
    const system = (time: string): string => `${'You are careful. '.repeat(200)} It is ${time}.`;
    desk.ask(anthropicBody(anthropicMessages(2), { system: system('12:00') }));
    steps.length = 0;
    desk.ask(anthropicBody(anthropicMessages(3), { system: system('half past twelve') }));
    expect(steps).toHaveLength(1);
  });
});

describe('what a receipt is told', () => {
  it('the task, in a line', () => {
    const title = (content: unknown): string =>
      new Desk().ask({ model: 'm', messages: [{ role: 'user', content }] }).task;
    expect(title('  Fix it\nplease')).toBe('Fix it');
    expect(
      title([
        { type: 'text', text: '<system-reminder>x</system-reminder>' },
        { type: 'text', text: 'Go' },
      ]),
    ).toBe('Go');
    expect(title('x'.repeat(500))).toHaveLength(80);
  });

  it('what would have been sent and cached without masks, and what is', () => {
    const desk = new Desk({ policy: () => slidingWindow({ turns: 2 }) });
    const [first, second, third] = [6, 7, 7].map((turns) => desk.ask(anthropicBody(anthropicMessages(turns))));
    expect(first?.explanation.without.cached).toBe(0);
    const { without, sent } = second?.explanation ?? {};
    const masks = newMasks(second as Asked);
    expect(without?.cached).toBe(first?.explanation.without.tokens);
    expect(sent?.cached).toBeLessThan(without?.cached ?? 0);
    expect(masks).toHaveLength(1);
    expect(masks[0]).toMatchObject({ turn: 5, tool: 'read_file', chars: output(5).length });
    expect(masks[0]?.tokens).toBeGreaterThan(500);
    expect(third?.explanation.sent.cached).toBe(sent?.tokens);
    for (const tokens of [without, sent]) expect((tokens?.cached ?? 0) + (tokens?.written ?? 0)).toBe(tokens?.tokens);
  });

  it('nothing is cached any more after its lifetime', () => {
    const desk = new Desk();
    desk.ask(anthropicBody(anthropicMessages(6)));
    desk.now += 600_000;
    expect(desk.ask(anthropicBody(anthropicMessages(7))).explanation.without.cached).toBe(0);
  });
});

describe('results that are more than text', () => {
  const policy = () => slidingWindow({ turns: 1 });

  it('the files beside a response of Gemini go with it, its name and id stay as they were written', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'A'.repeat(4000) } };
    const contents = [1, 2, 3].flatMap((turn) => [
      { role: 'model', parts: [{ functionCall: { id: `c${turn}`, name: 'shot', args: {} } }] },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: `c${turn}`, name: 'shot', response: { width: 1, height: 2 }, parts: [image] } },
        ],
      },
    ]);
    const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'Look' }] }, ...contents] });
    const odd = body.replace('"name":"shot","response":{"width":1', '"name" : "sh\\u006ft" , "response":{"width":1.0');
    const asked = new Desk({ policy }).ask(odd, { api: 'gemini' });
    expect(asked.explanation.masked).toBe(2);
    expect(asked.out.toString()).toMatch(
      /\{"id":"c1","name" : "sh\\u006ft" , "response":\{"output":"\[shot: 1 file, \d+ chars masked · p_[a-z2-7]{26}\]"\}\}/,
    );
    expect(asked.hidden[0]?.text).toContain('"width":1.0');
    expect(asked.hidden[0]?.text).toContain(image.inlineData.data);
  });

  it('the streams of a shell become one, with the exit code it had', () => {
    const input = [1, 2, 3].flatMap((turn) => [
      { type: 'shell_call', call_id: `c${turn}`, action: { commands: ['make'] } },
      {
        type: 'shell_call_output',
        call_id: `c${turn}`,
        output: [{ stdout: output(turn), stderr: '', outcome: { type: 'exit', exit_code: 2 } }],
      },
    ]);
    const body = { model: 'gpt-5', input: [{ role: 'user', content: 'Go' }, ...input] };
    const asked = new Desk({ policy }).ask(body, { api: 'openai-responses' });
    const [, , first] = parsed(asked.out).input as { output: unknown }[];
    expect(first?.output).toEqual([
      { stdout: expect.stringContaining('masked'), stderr: '', outcome: { type: 'exit', exit_code: 2 } },
    ]);
  });

  it('a list with an image becomes one text, and is stored as it was written', () => {
    const results = (turn: number): unknown => [
      { type: 'text', text: output(turn) },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(2000) } },
    ];
    const body = JSON.stringify(anthropicBody(anthropicMessages(3, { results })), null, 1);
    const asked = new Desk({ policy }).ask(body);
    expect(resultsIn(parsed(asked.out))[0]).toEqual([{ type: 'text', text: expect.stringContaining('1 file, ') }]);
    expect(JSON.parse(asked.hidden[0]?.text ?? '')).toEqual(results(1));
    expect(asked.hidden[0]?.text).toContain('\n');
  });
});
