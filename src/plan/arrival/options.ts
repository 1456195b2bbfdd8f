import { flag, rule } from '../../options.ts';

/** How results are made smaller when they first go out. */
export interface ArrivalOptions {
  /** Escape codes, overwritten lines, blanks, repeated lines and paths go. A file that is shown keeps its lines. */
  readonly clean?: boolean;
  /** Lines that the model can still see above are replaced by one line that says where they are. */
  readonly references?: boolean;
  /** The most tokens of a shell's output: its first and last lines and those about failures stay. `true` is 2,000. */
  readonly shellOutput?: boolean | number;
  /** The most tokens of any result: a larger one is cut. */
  readonly truncate?: number | false;
}

const isTokens = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 1;

export const arrivalRules = {
  clean: flag,
  references: flag,
  shellOutput: rule('true, false or a number of tokens', (v) => typeof v === 'boolean' || isTokens(v)),
  truncate: rule('a number of tokens or false', (v) => v === false || isTokens(v)),
};

/** The options of a conversation, each as it is used. */
export interface Arrival {
  readonly clean: boolean;
  readonly references: boolean;
  readonly shellOutput: number | undefined;
  readonly truncate: number | undefined;
}

const SHELL_TOKENS = 2000;

/** For each shaper, the first of these that mentions it decides. */
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
