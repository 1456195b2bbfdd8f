import { PalimpsestError } from '../../errors.ts';
import { recallLimits } from '../../limits.ts';
import { checkOptions, flag, given, rule, text } from '../../options.ts';
import { checkHandle } from '../access.ts';

/** The arguments of the tool `recall`: a handle, and the part that is needed. */
export interface RecallInput {
  /** The handle that a placeholder shows: `p_` and 26 letters and digits. */
  readonly handle: string;
  /** Only lines that match this regular expression, with their numbers. */
  readonly grep?: string | undefined;
  /** With `grep`: the number of lines around each match. */
  readonly context?: number | undefined;
  /** With `grep`: capital letters make no difference. */
  readonly ignore_case?: boolean | undefined;
  /** Only these lines, counted from 1, the last one included. */
  readonly lines?: readonly [from: number, to: number] | undefined;
  /** Only this many first lines. */
  readonly head?: number | undefined;
  /** Only this many last lines. */
  readonly tail?: number | undefined;
  /** The number of characters to skip, to continue in a long answer. */
  readonly offset?: number | undefined;
  /** The whole text, even if it is longer than an answer usually is. */
  readonly all?: boolean | undefined;
}

/** The JSON schema of the arguments. Its lists are mutable, because the types of frameworks require that. */
export type RecallParameters = {
  /** The arguments are one object. */
  type: 'object';
  /** The schema and the description of each argument. */
  properties: {
    [Name in keyof Required<RecallInput>]: {
      type: 'string' | 'integer' | 'boolean' | 'array';
      description: string;
      minLength?: number;
      maxLength?: number;
      minimum?: number;
      maximum?: number;
      items?: { type: 'integer'; minimum: number; maximum: number };
      minItems?: number;
      maxItems?: number;
    };
  };
  /** The arguments that a call must have: the handle. */
  required: string[];
  /** Unknown arguments are refused. */
  additionalProperties: false;
};

const { position, queryChars, contextLines } = recallLimits;

export const recallParameters: RecallParameters = {
  type: 'object',
  properties: {
    handle: { type: 'string', description: 'The handle in a placeholder: p_ and 26 lower-case letters and digits.' },
    grep: {
      type: 'string',
      minLength: 1,
      maxLength: queryChars,
      description: 'The lines that match this JavaScript regular expression, with their numbers.',
    },
    context: {
      type: 'integer',
      minimum: 0,
      maximum: contextLines,
      description: 'With grep: this many lines around each match.',
    },
    ignore_case: { type: 'boolean', description: 'With grep: capitals and small letters are the same.' },
    lines: {
      type: 'array',
      items: { type: 'integer', minimum: 1, maximum: position },
      minItems: 2,
      maxItems: 2,
      description: 'These lines: [from, to], counted from 1, inclusive.',
    },
    head: { type: 'integer', minimum: 1, maximum: position, description: 'This many lines from the start.' },
    tail: { type: 'integer', minimum: 1, maximum: position, description: 'This many lines from the end.' },
    offset: {
      type: 'integer',
      minimum: 0,
      maximum: position,
      description: 'Skip this many characters of the part, to continue in a long line.',
    },
    all: { type: 'boolean', description: 'The whole text, also if it is long. Rarely needed.' },
  },
  required: ['handle'],
  additionalProperties: false,
};

/** The arguments of a call, checked. Throws BAD_OPTION or BAD_INPUT. An argument that is null counts as not given. */
export function checkRecallInput(value: unknown): RecallInput {
  const entries = Object.entries(given('recall', value as object)).filter(([, argument]) => argument !== null);
  const input = Object.fromEntries(entries) as unknown as RecallInput;
  checkOptions('recall', input, RULES, recallParameters.required);
  checkHandle(input.handle);
  const { all = false, ...others } = input;
  if (all && hasPart(others)) throw wrong('all alone, or a part: grep, lines, head or tail');
  if (input.offset !== undefined && (input.grep !== undefined || input.tail !== undefined))
    throw wrong('offset with the whole text, head or lines, not with grep or tail');
  return input;
}

/** Whether a part of the text is asked for. */
export const hasPart = ({ grep, lines, head, tail }: RecallInput): boolean =>
  [grep, lines, head, tail].some((part) => part !== undefined);

const wrong = (expected: string): PalimpsestError => new PalimpsestError('BAD_INPUT', `Expected ${expected}`);

const within = (least: number, most: number) =>
  rule(
    `a whole number from ${least} to ${most}`,
    (v) => Number.isInteger(v) && Number(v) >= least && Number(v) <= most,
  );

const lineNumber = within(1, position);

const RULES = {
  handle: { ...text, expected: 'a handle, a text that a placeholder shows' },
  grep: rule(
    `a text of 1 to ${queryChars} characters`,
    (v) => typeof v === 'string' && v !== '' && v.length <= queryChars,
  ),
  context: within(0, contextLines),
  ignore_case: flag,
  lines: rule(
    'two line numbers, the first from 1 and not above the second',
    (v) => Array.isArray(v) && v.length === 2 && v.every(lineNumber.check) && v[0] <= v[1],
  ),
  head: lineNumber,
  tail: lineNumber,
  offset: within(0, position),
  all: flag,
};
