import { inspect } from 'node:util';
import { expect } from 'vitest';
import {
  clearToolUses,
  type FitOptions,
  type FitResult,
  type FormatName,
  firstAndLast,
  fit,
  formatByName,
  graduated,
  handleOf,
  hybrid,
  oldestBatch,
  PalimpsestError,
  polling,
  protectTokens,
  slidingWindow,
} from '../../src/index.ts';
import { addedViolations } from '../../src/laws/pairs.ts';

// biome-ignore lint/suspicious/noExplicitAny: things that no type allows
export type Anything = any;

const PROSE = 'The quick brown fox jumps over the lazy dog and reads another file. ';
export const prose = (length: number, start = ''): string =>
  (start + PROSE.repeat(Math.ceil(length / PROSE.length))).slice(0, length);

/** Ways to fit that between them reach every stage. */
export const settings: readonly FitOptions[] = [
  {},
  { policy: slidingWindow({ turns: 2, minTokens: 0 }) },
  { policy: slidingWindow({ turns: 0, minTokens: 0 }), recall: true, tools: [{ name: 'recall' }] },
  { policy: polling({ turns: 2, every: 3 }), recall: true },
  { policy: firstAndLast({ keepFirst: 1, keepLast: 2 }) },
  { policy: oldestBatch({ count: 2, window: 1 }) },
  { policy: protectTokens({ protect: 300, atLeast: 100 }) },
  { policy: clearToolUses({ trigger: 400, keep: 1 }) },
  { policy: hybrid({ window: 2, summarizeEvery: 3 }), recall: true },
  { policy: graduated({ maxInputChars: 2500, preserveRecentRawTurns: 1 }) },
  { policy: slidingWindow({ turns: 2, placeholder: ({ text }) => `masked: ${text.slice(0, 20)}` }) },
  { maxTokens: 1200 },
  { maxTokens: 500, recall: true },
  { maxTokens: 120 },
  { maxTokens: 700, boundThinking: 'keep', policy: slidingWindow({ turns: 1 }) },
];

/** The fitted list; nothing where a budget cannot be kept. Any other error than ours is one. */
export function fitOrRefuse(messages: readonly Anything[], options: FitOptions): FitResult<Anything> | undefined {
  try {
    const fitted = fit(messages, options);
    const { limit = 0, size = 0 } = fitted.report.decision;
    return Number(size) > Number(limit) ? undefined : fitted;
  } catch (error) {
    if (error instanceof PalimpsestError) return undefined;
    throw error;
  }
}

const show = (value: unknown): string => inspect(value, { depth: 7, maxStringLength: 80, maxArrayLength: 60 });

/** What must hold for whatever comes in: no foreign error, the input unchanged, check() not worse, idempotent. */
export function survive(
  messages: readonly Anything[],
  format: FormatName,
  options: FitOptions,
): FitResult<Anything> | undefined {
  const before = show(messages);
  const given = { ...options, format };
  const fitted = fitOrRefuse(messages, given);
  expect(show(messages)).toBe(before);
  if (!fitted) return undefined;
  const lens = formatByName(format);
  expect(addedViolations(lens, messages, fitted.messages)).toEqual([]);
  expect(fitted.report.tokens.after).toBeLessThanOrEqual(
    Math.min(fitted.report.tokens.before, options.maxTokens ?? Infinity),
  );
  for (const { handle, text } of fitted.hidden) expect(handle).toBe(handleOf(text));
  const again = fit(fitted.messages, given);
  expect(again.plan.edits).toEqual([]);
  expect(again.messages).toEqual(fitted.messages);
  expect(again.report.tokens.before).toBe(fitted.report.tokens.after);
  return fitted;
}

/** The same for all settings; answers what masked or left out something. */
export function surviveAll(messages: readonly Anything[], format: FormatName): FitResult<Anything>[] {
  return settings.flatMap((options) => survive(messages, format, options) ?? []);
}

// Histories that every format can write.

export type Event =
  | { readonly system: string }
  | { readonly user: string }
  | { readonly says: string; readonly calls?: readonly string[] }
  | { readonly result: string; readonly text: string };

const writers: Readonly<Partial<Record<FormatName, (event: Event) => object[]>>> = {
  chat(event) {
    if ('system' in event) return [{ role: 'system', content: event.system }];
    if ('user' in event) return [{ role: 'user', content: event.user }];
    if ('result' in event) return [{ role: 'tool', toolCallId: event.result, content: event.text }];
    const toolCalls = event.calls?.map((id) => ({ id, name: 'bash', arguments: '{"command":"ls"}' }));
    return [{ role: 'assistant', content: event.says, ...(toolCalls ? { toolCalls } : {}) }];
  },
  'openai-chat'(event) {
    if ('system' in event) return [{ role: 'system', content: event.system }];
    if ('user' in event) return [{ role: 'user', content: event.user }];
    if ('result' in event) return [{ role: 'tool', tool_call_id: event.result, content: event.text }];
    const tool_calls = event.calls?.map((id) => ({
      id,
      type: 'function',
      function: { name: 'bash', arguments: '{}' },
    }));
    return [{ role: 'assistant', content: event.says, ...(tool_calls ? { tool_calls } : {}) }];
  },
  anthropic(event) {
    if ('system' in event) return [];
    if ('user' in event) return [{ role: 'user', content: event.user }];
    if ('result' in event) {
      return [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: event.result, content: event.text }] }];
    }
    const calls = event.calls?.map((id) => ({ type: 'tool_use', id, name: 'bash', input: {} })) ?? [];
    return [{ role: 'assistant', content: [{ type: 'text', text: event.says }, ...calls] }];
  },
  'openai-responses'(event) {
    if ('system' in event) return [{ role: 'system', content: event.system }];
    if ('user' in event) return [{ type: 'message', role: 'user', content: event.user }];
    if ('result' in event) return [{ type: 'function_call_output', call_id: event.result, output: event.text }];
    const calls =
      event.calls?.map((id) => ({ type: 'function_call', call_id: id, name: 'bash', arguments: '{}' })) ?? [];
    return [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: event.says }] }, ...calls];
  },
  'ai-sdk'(event) {
    if ('system' in event) return [{ role: 'system', content: event.system }];
    if ('user' in event) return [{ role: 'user', content: [{ type: 'text', text: event.user }] }];
    if ('result' in event) {
      const output = { type: 'text', value: event.text };
      return [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: event.result, toolName: 'bash', output }] }];
    }
    const calls = event.calls?.map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 'bash', input: {} })) ?? [];
    return [{ role: 'assistant', content: [{ type: 'text', text: event.says }, ...calls] }];
  },
};
export const writable = Object.keys(writers) as FormatName[];
export const write = (events: readonly Event[], format: FormatName): object[] =>
  events.flatMap((event) => writers[format]?.(event) ?? []);

/** System, task and turns of one call each. */
export const turn = (id: string, text = prose(900, `${id}: `)): Event[] => [
  { says: `step ${id}`, calls: [id] },
  { result: id, text },
];
export const turns = (from: number, to: number): Event[] =>
  Array.from({ length: to - from + 1 }, (_, i) => turn(`c${from + i}`)).flat();
export const head: Event[] = [{ system: 'You are an agent.' }, { user: 'Fix the build.' }];
