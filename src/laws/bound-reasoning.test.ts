import { describe, expect, it } from 'vitest';
import { chat } from '../formats/chat.ts';
import type { Edit, Segment, Violation } from '../message.ts';
import { boundReasoning, boundThinking } from './bound-reasoning.ts';

const REQUIREMENT = {
  field: 'thinking.block_binding.prefix_mismatch_behavior',
  value: 'drop_block',
  header: 'anthropic-beta',
  headerValue: 'thinking-binding-controls-2026-08-01',
};

describe('boundThinking', () => {
  it('asks for the opt-in if an edit comes before signed thinking, and only there', () => {
    expect(boundThinking(3, 5, undefined)).toEqual([REQUIREMENT]);
    expect(boundThinking(5, 3, undefined)).toEqual([]);
    expect(boundThinking(3, 3, undefined)).toEqual([]);
    expect(boundThinking(Number.POSITIVE_INFINITY, 5, undefined)).toEqual([]);
    expect(boundThinking(0, -1, undefined)).toEqual([]);
  });

  it.each([
    'claude-2.1',
    'claude-instant-1.2',
    'claude-3-opus-20240229',
    'claude-3-5-sonnet-20241022',
    'claude-3-7-sonnet-latest',
    'claude-sonnet-4',
    'claude-sonnet-4-20250514',
    'claude-opus-4-1-20250805',
    'claude-haiku-4-5',
    'claude-opus-5',
    'claude-opus-5-20260301',
    'anthropic/claude-sonnet-5',
    'us.anthropic.claude-sonnet-4-20250514-v1:0',
    'claude-sonnet-4@20250514',
    'gpt-5',
    'deepseek-chat',
    'openrouter/qwen/qwen3-coder',
  ])('asks nothing of %s', (model) => {
    expect(boundThinking(0, 1, model)).toEqual([]);
  });

  it.each([
    'claude-opus-5-1',
    'claude-opus-5-5',
    'claude-sonnet-5.5',
    'claude-opus-5-5-20260601',
    'anthropic/claude-sonnet-5.1',
    'claude-opus-5-10',
    'claude-opus-6',
    'claude-haiku-10',
    'some-model',
    'claude-next',
    'mistral-gateway/claude-next',
    '',
    undefined,
  ])('asks it of %s', (model) => {
    expect(boundThinking(0, 1, model)).toEqual([REQUIREMENT]);
  });
});

describe('boundReasoning', () => {
  const segment = (more: Partial<Segment>): Segment => ({
    kind: 'observation',
    turn: 1,
    message: 4,
    path: ['content'],
    text: 'x',
    callId: 'c',
    ...more,
  });
  const check = (found: Segment, edit: Edit = { kind: 'replace', segment: 0, text: 'y', why: 'mask' }): Violation[] =>
    boundReasoning.check({
      format: chat,
      before: [],
      after: [],
      segments: [found],
      plan: { version: 1, edits: [edit] },
    });

  it('lets a result that answers a call be replaced', () => {
    expect(check(segment({}))).toEqual([]);
  });
  it.each([
    ['what is signed', segment({ kind: 'reasoning', bound: true })],
    ['the result of a server tool', segment({ bound: true })],
    ['a reply', segment({ kind: 'reasoning' })],
    ['a call', segment({ kind: 'action' })],
    ['a user', segment({ kind: 'user' })],
    ['the system prompt', segment({ kind: 'system' })],
  ])('refuses to replace %s', (_, bound) => {
    expect(check(bound)).toMatchObject([{ law: 'bound-reasoning', message: 4 }]);
  });
  it('refuses to replace a result that answers no call', () => {
    const { callId: _, ...orphan } = segment({});
    const text = 'A replacement of observation: only a result that answers a call may be replaced.';
    expect(check(orphan)).toEqual([{ law: 'bound-reasoning', message: 4, text, about: '' }]);
  });
  it('says that a replaced part is bound', () => {
    const text = 'A replacement of bound reasoning: only a result that answers a call may be replaced.';
    expect(check(segment({ kind: 'reasoning', bound: true }))).toEqual([
      { law: 'bound-reasoning', message: 4, text, about: 'c' },
    ]);
  });
  it('lets the old text of a call be replaced, and nothing else of it', () => {
    const oldText: Edit = { kind: 'replace', segment: 0, text: 'y', why: 'old-text' };
    expect(check(segment({ kind: 'action' }), oldText)).toEqual([]);
    expect(check(segment({}), oldText)).toHaveLength(1);
    expect(check(segment({ kind: 'action', bound: true }), oldText)).toHaveLength(1);
  });
  it('has nothing to say about drops and notes', () => {
    expect(check(segment({ bound: true }), { kind: 'drop', from: 0, to: 1 })).toEqual([]);
    expect(check(segment({ bound: true }), { kind: 'insert', before: 0, role: 'user', text: 'x' })).toEqual([]);
  });
});
