import type { ChatMessage } from '../message.ts';

/** The logs that can be read. */
export type RunFormat =
  | 'claude-code'
  | 'codex'
  | 'opencode'
  | 'gemini-cli'
  | 'qwen-code'
  | 'swe-agent'
  | 'mini-swe-agent'
  | 'openhands'
  | 'pi'
  | 'goose'
  | 'cline'
  | 'amp'
  | 'copilot'
  | 'cursor'
  | 'droid'
  | 'tau-bench'
  | 'atif'
  | 'messages';

/** Facts of the log about one reply. */
export interface ReplyFacts {
  /** The model that answered, where the log names it. */
  readonly model?: string | undefined;
  /** The tokens as billed, if the log has them. */
  readonly usage?: Usage | undefined;
}

/** The tokens of one request and its reply, as the provider counted them. */
export interface Usage {
  /** The whole prompt: read from the cache, written to it, or neither. */
  readonly prompt: number;
  /** The part of `prompt` that was read from the cache. */
  readonly cached: number;
  /** The tokens of the reply. */
  readonly output: number;
  /** How long the provider keeps the text that this request wrote to the cache, if the usage says so. */
  readonly cacheLifeMs?: number | undefined;
}

/**
 * A run, or the part of one between two compactions, as a neutral list of messages. One assistant message is one model call. Results
 * of a text-only agent answer a call made from its text.
 */
export interface Context {
  /** The path of the log. */
  readonly file: string;
  /** The number of the run in its file. */
  readonly run: number;
  /** The agent that wrote the log. */
  readonly format: RunFormat;
  /** The conversation, in the neutral format `chat`. */
  readonly messages: readonly ChatMessage[];
  /** The time of each message in milliseconds since 1970, if the log has it. */
  readonly times: readonly (number | undefined)[];
  /** The model and the usage of each reply, in the order of the replies, if the log has them. */
  readonly replies?: readonly ReplyFacts[];
  /** Replies kept word for word across a compaction: they are turns, but were billed before. */
  readonly carriedTurns: number;
}
