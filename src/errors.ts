/** The kind of an error, for programs. The message is for people. */
export type ErrorCode =
  | 'BAD_OPTION'
  | 'BAD_INPUT'
  | 'UNKNOWN_FORMAT'
  | 'BUDGET_IMPOSSIBLE'
  | 'LAW_BROKEN'
  | 'MISSING_PEER'
  | 'MODEL_FAILED'
  | 'NOT_FOUND'
  | 'RESTART_LIMIT'
  | 'TIMED_OUT'
  | 'BUSY'
  | 'HANDLE_CLASH'
  | 'STORE_CLOSED'
  | 'STORE_DAMAGED'
  | 'STORE_FAILED'
  | 'STORE_FULL'
  | 'STORE_LOCKED';

/** The one error of this package: `code` is for programs, the text says what was expected, found, and what to do. */
export class PalimpsestError extends Error {
  override readonly name = 'PalimpsestError';
  /** The kind of the error. Programs compare this, not the text. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
