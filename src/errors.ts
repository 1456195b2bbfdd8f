/** What went wrong, for programs. The text beside it is for people. */
export type ErrorCode =
  | 'BAD_OPTION'
  | 'BAD_INPUT'
  | 'UNKNOWN_FORMAT'
  | 'BUDGET_IMPOSSIBLE'
  | 'LAW_BROKEN'
  | 'MISSING_PEER';

export class PalimpsestError extends Error {
  override readonly name = 'PalimpsestError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
