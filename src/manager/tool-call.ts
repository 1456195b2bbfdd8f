import type { StoredImage } from '../store/stored-images.ts';

/** A call that a model made, whatever its format. */
export interface ToolCall {
  /** Pairs the call with its result. */
  readonly id: string;
  /** The tool. */
  readonly name: string;
  /** The arguments as data. */
  readonly arguments: unknown;
  /** The reason why the arguments could not be parsed. They are a text then. */
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
  /** The images of the result, in formats that have them. */
  readonly images?: readonly StoredImage[];
}
