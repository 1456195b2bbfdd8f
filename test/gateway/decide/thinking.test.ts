import { describe, expect, it } from 'vitest';
import { afterRefusal, afterStored, originalOf, withoutStore } from '../../../src/gateway/decide/decide.ts';
import type { Decision } from '../../../src/gateway/decide/decision.ts';
import { fit, never, slidingWindow } from '../../../src/index.ts';
import {
  anthropicBody,
  anthropicMessages,
  Desk,
  type Json,
  maskedIn,
  parsed,
  successor,
} from '../../support/gateway/requests.ts';

const policy = () => slidingWindow({ turns: 2 });
const BETA = 'thinking-binding-controls-2026-08-01';
const NEW = 'claude-opus-5-1';
const OLD = 'claude-sonnet-4-5';

const dropsThinking = ({ basis }: Decision): boolean => basis?.written.optIn !== undefined;

function body(turns: number, more: Json = {}): Json {
  const thinking = { type: 'enabled', budget_tokens: 2048 };
  return anthropicBody(anthropicMessages(turns, { thinks: true }), { model: NEW, thinking, ...more });
}

describe('signed thinking behind a mask', () => {
  it('makes the request opt into dropping it', () => {
    const asked = new Desk({ policy }).ask(body(8));
    expect(parsed(asked.out).thinking).toEqual({
      type: 'enabled',
      budget_tokens: 2048,
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    });
    expect(asked.headers).toEqual({ 'anthropic-beta': BETA });
    expect(dropsThinking(asked)).toBe(true);
  });

  it('is as it came where nothing is masked', () => {
    const asked = new Desk({ policy }).ask(body(2));
    expect([asked.body, asked.headers]).toEqual([undefined, {}]);
  });

  it('adds the beta to those of the client, once', () => {
    const headers = { 'anthropic-beta': 'context-1m-2025-08-07, fine-grained-tool-streaming-2025-05-14' };
    const asked = new Desk({ policy }).ask(body(8), { headers });
    expect(asked.headers['anthropic-beta']).toBe(`${headers['anthropic-beta']},${BETA}`);
    const again = new Desk({ policy }).ask(body(8), { headers: { 'anthropic-beta': `a,${BETA}` } });
    expect(again.headers['anthropic-beta']).toBe(`a,${BETA}`);
  });

  it("leaves a client's own choice as it is", () => {
    const own = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
    const asked = new Desk({ policy }).ask(body(8, { thinking: own }));
    expect(parsed(asked.out).thinking).toEqual(own);
    expect([asked.explanation.masked, asked.headers]).toEqual([6, {}]);
  });

  it.each([
    ['asks for an error', { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } }],
    ['has thinking off', { type: 'disabled' }],
    ['thinks between tools', { type: 'between_tools' }],
    ['says nothing of thinking', undefined],
  ])('is left alone where the client %s', (_what, thinking) => {
    const asked = new Desk({ policy }).ask(body(8, { thinking }));
    expect(asked.body).toBeUndefined();
    expect(asked.explanation).toMatchObject({ act: 'wait', reason: 'bound-thinking', masked: 0 });
  });

  it('stays masked where that was sent before, though a request cannot opt in', () => {
    const desk = new Desk({ policy });
    const first = desk.ask(body(8));
    const second = desk.ask(body(9, { thinking: undefined }));
    expect(second.explanation).toMatchObject({
      act: 'wait',
      reason: 'bound-thinking',
      masked: first.explanation.masked,
    });
    expect(maskedIn(second.out)).toEqual([...maskedIn(first.out), false]);
    expect(desk.ask(body(10)).explanation.masked).toBe(8);
  });

  it('joins what else a client says about binding', () => {
    const asked = new Desk({ policy }).ask(body(8, { thinking: { type: 'adaptive', block_binding: { other: 1 } } }));
    const { block_binding } = parsed(asked.out).thinking as Json;
    expect(block_binding).toEqual({ other: 1, prefix_mismatch_behavior: 'drop_block' });
    const empty = new Desk({ policy }).ask(body(8, { thinking: { type: 'adaptive', block_binding: {} } }));
    expect((parsed(empty.out).thinking as Json).block_binding).toEqual({ prefix_mismatch_behavior: 'drop_block' });
  });

  it('needs no opt-in where the model does not bind it, or nothing is signed', () => {
    const old = new Desk({ policy }).ask(body(8, { model: OLD }));
    expect([old.explanation.masked, old.headers]).toEqual([6, {}]);
    const plain = anthropicBody(anthropicMessages(8), { model: NEW, thinking: { type: 'adaptive' } });
    expect(new Desk({ policy }).ask(plain).headers).toEqual({});
  });

  it.each([
    ['claude-sonnet-4', 0],
    ['claude-opus-5', 0],
    ['claude-opus-5-5', 1],
    ['claude-sonnet-5.5', 1],
    ['something-else', 1],
    ['', 1],
    ['Claude-Next', 1],
    ['glm-5', 0],
    ['moonshotai/kimi-k2', 0],
  ])('is dropped where the report of fit requires it: %s', (model, count) => {
    const asked = new Desk({ policy }).ask(body(8, { model }));
    expect(asked.explanation.masked).toBe(6);
    expect(asked.headers).toEqual(count === 1 ? { 'anthropic-beta': BETA } : {});
    const messages = anthropicMessages(8, { thinks: true });
    expect(fit(messages, { format: 'anthropic', policy: policy(), model }).report.requires).toHaveLength(count);
  });

  it('is left alone where an unknown model cannot be asked to drop it', () => {
    const asked = new Desk({ policy }).ask(body(8, { model: 'something-else', thinking: undefined }));
    expect(asked.explanation).toMatchObject({ act: 'wait', reason: 'bound-thinking', masked: 0 });
  });

  it('is asked for once the provider has said that it is bound', () => {
    const desk = new Desk({ policy });
    const asked = desk.look(body(8, { model: OLD }));
    const text =
      'messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.';
    const events = afterRefusal(asked, text);
    expect(events.map(({ kind }) => kind)).toEqual(['bound-thinking']);
    const next = desk.ask(body(9, { model: OLD }));
    expect([next.explanation.masked, dropsThinking(next)]).toEqual([7, true]);
  });

  it('stays asked for in an original, once an edited request was answered', () => {
    const desk = new Desk({ policy });
    const first = desk.look(body(8));
    expect(originalOf(first).body).toBeUndefined();
    afterStored(first);
    desk.answer(first);
    const second = desk.look(body(9));
    const { body: original, headers } = originalOf(second);
    expect(headers).toEqual({ 'anthropic-beta': BETA });
    const sent = parsed(original ?? Buffer.alloc(0));
    expect((sent.thinking as Json).block_binding).toEqual({ prefix_mismatch_behavior: 'drop_block' });
    expect(sent.messages).toEqual(body(9).messages);
    // And for good, where the conversation is left alone after it.
    afterRefusal(second, 'no');
    const third = desk.ask(body(10));
    expect(third.explanation).toMatchObject({ act: 'off', masked: 0 });
    expect(dropsThinking(third)).toBe(true);
    expect(parsed(third.out).messages).toEqual(body(10).messages);
  });

  it('stays asked for where a store that is down takes the masks away', () => {
    const asked = new Desk({ policy }).ask(body(8));
    const down = withoutStore(successor(asked, asked.events, { policy }).look(body(9)), 'store-slow');
    expect([down.explanation.masked, dropsThinking(down)]).toEqual([0, true]);
    expect(down.headers).toEqual({ 'anthropic-beta': BETA });
  });

  it('may be bound to masks that a store which does not answer knows of', () => {
    const heir = new Desk({ policy, storeTrouble: 'store-failed' });
    const asked = heir.ask(body(9));
    expect(asked.explanation).toMatchObject({ masked: 0, reason: 'store-failed' });
    expect(dropsThinking(asked)).toBe(true);
    expect(asked.headers).toEqual({ 'anthropic-beta': BETA });
    expect(parsed(originalOf(asked).body ?? Buffer.alloc(0)).thinking).toEqual(parsed(asked.out).thinking);
    // Also where nothing would be masked now, and where the request cannot ask for it.
    const first = heir.ask(body(1));
    expect([first.explanation.masked, dropsThinking(first)]).toEqual([0, true]);
    const unasked = heir.ask(body(10, { thinking: undefined }));
    expect([unasked.body, unasked.explanation.reason]).toEqual([undefined, 'store-failed']);
  });

  it('may be bound to what was masked for another model', () => {
    const desk = new Desk({ policy });
    desk.ask(body(8));
    const other = new Desk({ policy: () => never() }, desk.memory);
    const model = 'claude-sonnet-5-1';
    const renamed = other.ask(body(9, { model }));
    expect([renamed.explanation.masked, dropsThinking(renamed)]).toEqual([0, true]);
    expect(dropsThinking(new Desk({ policy: () => never() }).ask(body(9, { model })))).toBe(false);
  });

  it('is never behind a mask with the setting keep', () => {
    const desk = new Desk({ policy, boundThinking: 'keep' });
    expect(desk.ask(body(8)).explanation).toMatchObject({ masked: 0, act: 'wait' });
  });

  it('differs in nothing else', () => {
    const request = JSON.stringify(body(8));
    const asked = new Desk({ policy }).ask(request);
    const optIn = ',"block_binding":{"prefix_mismatch_behavior":"drop_block"}';
    const out = asked.out.toString();
    expect(out.indexOf(optIn)).toBe(out.indexOf('"budget_tokens":2048') + '"budget_tokens":2048'.length);
    expect(out.split(optIn)).toHaveLength(2);
  });
});
