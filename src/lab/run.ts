import type { ChatMessage } from '../message.ts';

/** The logs that can be read. */
export type RunFormat =
  | 'claude-code'
  | 'codex'
  | 'opencode'
  | 'gemini-cli'
  | 'swe-agent'
  | 'mini-swe-agent'
  | 'openhands'
  | 'pi'
  | 'goose'
  | 'cline'
  | 'tau-bench'
  | 'messages';

/** Facts of the log about one reply. */
export interface ReplyFacts {
  readonly model?: string | undefined;
  readonly usage?: Usage | undefined;
}

/** The tokens of one request and its reply, as the provider counted them. */
export interface Usage {
  /** The whole prompt: read from the cache, written to it, or neither. */
  readonly prompt: number;
  /** The part of `prompt` that was read from the cache. */
  readonly cached: number;
  readonly output: number;
  /** How long the provider keeps what this request wrote to the cache, where the usage tells. */
  readonly cacheLifeMs?: number | undefined;
}

/**
 * A run, or the part of one between two compactions, as a neutral list of what the model saw and said.
 * One assistant message is one model call; results of a text-only agent answer a call made from its text.
 */
export interface Context {
  readonly file: string;
  /** Which run of its file. */
  readonly run: number;
  readonly format: RunFormat;
  readonly messages: readonly ChatMessage[];
  /** The time of each message in milliseconds since 1970, if the log has it. */
  readonly times: readonly (number | undefined)[];
  /** The model and the usage of each reply, in the order of the replies, where the log has them. */
  readonly replies?: readonly ReplyFacts[];
  /** Replies kept word for word across a compaction: they stay turns, but were billed before. */
  readonly carriedTurns: number;
}
