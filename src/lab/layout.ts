import type { ChatMessage } from '../message.ts';
import type { Counter } from '../tokens/counter.ts';
import type { Context } from './run.ts';

/** The sizes of a context with nothing masked. */
export interface Layout {
  /** The size of each request; the first is request 1. */
  readonly sizes: readonly number[];
  /** The text before each result. */
  readonly positions: readonly number[];
}

/** How the text of a context is counted, and the tokens that each request has in addition. */
export interface Measure {
  /** Counts the tokens of a text. */
  readonly counter: Counter;
  /** The least size of turn 0: logs often lack the system prompt. */
  readonly systemTokens: number;
  /** Tokens before the first message that are not in the log. */
  readonly hiddenTokens?: number | undefined;
}

/** Measures a context with nothing masked. */
export function layoutOf({ messages }: Context, counter: Counter, systemTokens: number, hiddenTokens = 0): Layout {
  const batches = batchesOf(messages);
  const sizes: number[] = [];
  const positions: number[] = [];
  let text = overheadOf(batches[0] ?? [], { counter, systemTokens, hiddenTokens });
  for (const batch of batches) {
    for (const message of batch) {
      if (message.role === 'tool') positions.push(text);
      text += sizeOf([message], counter);
    }
    sizes.push(text);
  }
  // After the last reply nothing was sent.
  return { sizes: sizes.slice(0, -1), positions };
}

/** The tokens before the first message. */
export function overheadOf(head: readonly ChatMessage[], { counter, systemTokens, hiddenTokens = 0 }: Measure): number {
  return Math.max(hiddenTokens, systemTokens - sizeOf(head, counter));
}

/** The messages that each request adds: the reply before it and later input. */
export function batchesOf(messages: readonly ChatMessage[]): ChatMessage[][] {
  const batches: ChatMessage[][] = [[]];
  for (const message of messages) {
    if (message.role === 'assistant') batches.push([message]);
    else batches[batches.length - 1]?.push(message);
  }
  return batches;
}

/** The text of messages, the names of the tools they call included. */
export function sizeOf(messages: readonly ChatMessage[], counter: Counter): number {
  let size = 0;
  for (const { content, toolCalls = [] } of messages) {
    size += counter(content);
    for (const { name, arguments: args } of toolCalls) size += counter(name) + counter(args);
  }
  return size;
}
