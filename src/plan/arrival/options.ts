import { isRecord } from '../../formats/lens.ts';
import { flag, rule } from '../../options.ts';

/** How results are made smaller when they are first sent. */
export interface ArrivalOptions {
  /**
   * Removes escape codes, overwritten lines, blanks, repeated lines and paths. A shown file keeps its lines.
   * @default that of the policy, else false
   */
  readonly clean?: boolean;
  /**
   * Replaces lines that the model can still see above by one line that says where they are. @default that of the
   * policy, else false
   */
  readonly references?: boolean;
  /**
   * The largest shell output in tokens: its first and last lines and those about failures stay. `true` is 2,000.
   * @default that of the policy, else false
   */
  readonly shellOutput?: boolean | number;
  /** The largest result in tokens: a larger one is cut. @default that of the policy, else false */
  readonly truncate?: number | false;
}

const isTokens = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1;

export const arrivalRules = {
  clean: flag,
  references: flag,
  shellOutput: rule('true, false or a number of tokens', (v) => typeof v === 'boolean' || isTokens(v)),
  truncate: rule('a number of tokens or false', (v) => v === false || isTokens(v)),
};

/** Checks the option `arrival`. Its fields are checked with `arrivalRules`. */
export const arrivalRule = rule('an object with clean, references, shellOutput and truncate', isRecord);

/** The options of a conversation, with defaults applied. */
export interface Arrival {
  readonly clean: boolean;
  readonly references: boolean;
  readonly shellOutput: number | undefined;
  readonly truncate: number | undefined;
}

const SHELL_TOKENS = 2000;

/** For each option, the first of these that sets it decides. */
export function toArrival(...given: readonly (ArrivalOptions | undefined)[]): Arrival {
  const first = <Name extends keyof ArrivalOptions>(name: Name): ArrivalOptions[Name] | undefined =>
    given.find((options) => options?.[name] !== undefined)?.[name];
  const shellOutput = first('shellOutput') ?? false;
  return {
    clean: first('clean') ?? false,
    references: first('references') ?? false,
    shellOutput: shellOutput === true ? SHELL_TOKENS : shellOutput || undefined,
    truncate: first('truncate') || undefined,
  };
}
