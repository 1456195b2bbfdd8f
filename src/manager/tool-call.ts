import type { StoredImage } from '../store/stored-images.ts';

/** A call that a model made, whatever its format. */
export interface ToolCall {
  /** Pairs the call with its result. */
  readonly id: string;
  /** The tool. */
  readonly name: string;
  /** The arguments as data. */
  readonly arguments: unknown;
  /** The reason why the arguments could not be read. They are given as text then. */
  readonly malformed?: string;
}

/** The result of a call. */
export interface ToolResult {
  /** The call that it answers. */
  readonly call: ToolCall;
  /** The words of the result. */
  readonly text: string;
  /** The call failed. */
  readonly isError: boolean;
  /** In the formats whose results have images; the text says how many there are. */
  readonly images?: readonly StoredImage[];
}
