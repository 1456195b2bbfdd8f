/** A call that a model made, whatever its format. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as data. */
  readonly arguments: unknown;
  /** The reason why the arguments could not be read. They are given as text then. */
  readonly malformed?: string;
}

/** The result of a call. */
export interface ToolResult {
  readonly call: ToolCall;
  readonly text: string;
  readonly isError: boolean;
}
