import { PalimpsestError } from './errors.ts';

type Check = (value: unknown) => boolean;

export interface Rule {
  readonly expected: string;
  readonly check: Check;
}

type Rules = Readonly<Record<string, Rule>>;

/** A custom rule. */
export const rule = (expected: string, check: Check): Rule => ({ expected, check });

/** The rules of options. Every function checks its options with these, so that all errors read the same. */
export const count: Rule = wholeNumber(0);
export const positive: Rule = wholeNumber(1);
export const amount: Rule = rule('a number of 0 or more', (v) => Number.isFinite(v) && (v as number) >= 0);
export const flag: Rule = rule('true or false', (v) => typeof v === 'boolean');
export const func: Rule = rule('a function', (v) => typeof v === 'function');
export const names: Rule = rule('a list of strings', (v) => Array.isArray(v) && v.every((x) => typeof x === 'string'));
export const anything: Rule = rule('anything', () => true);
export const text: Rule = rule('a text', (v) => typeof v === 'string');
export const oneOf = (...values: readonly string[]): Rule =>
  rule(`one of ${values.map((v) => `'${v}'`).join(', ')}`, (v) => values.includes(v as string));

function wholeNumber(least: number): Rule {
  return rule(`a whole number of ${least} or more`, (v) => Number.isInteger(v) && (v as number) >= least);
}

/** Throws BAD_OPTION for a value that breaks its rule, for an unknown name, and if a required option is missing. */
export function checkOptions(of: string, options: object, rules: Rules, required: readonly string[] = []): void {
  for (const [name, value] of Object.entries(given(of, options))) {
    const found = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (!found) throw unknownOption(of, name, Object.keys(rules));
    if (value !== undefined && !found.check(value)) throw badOption(`${of} option ${name}`, found.expected, value);
  }
  const missing = required.find((name) => (options as Readonly<Record<string, unknown>>)[name] === undefined);
  if (missing !== undefined) throw badOption(`${of} option ${missing}`, rules[missing]?.expected ?? '', undefined);
}

/** Returns the options, or throws if they are not an object. Call it before destructuring. */
export function given<T extends object>(of: string, options: T): T {
  if (kindOfValue(options) === 'object') return options;
  throw badOption(`the options of ${of}`, 'an object', options);
}

/** The options without those that are undefined. */
export function defined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

export function badOption(name: string, expected: string, found: unknown): PalimpsestError {
  return new PalimpsestError('BAD_OPTION', `Expected ${name} to be ${expected} but found ${show(found)}`);
}

function unknownOption(of: string, name: string, known: readonly string[]): PalimpsestError {
  const near = nearest(name, known);
  const hint = near ? `did you mean ${near}?` : `it takes ${known.join(', ') || 'no options'}.`;
  return new PalimpsestError('BAD_OPTION', `Expected an option of ${of} but found ${name}; ${hint}`);
}

const SHOWN_CHARS = 1000;

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, SHOWN_CHARS)}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Promise) return PROMISE;
  return kindOfValue(value) === 'object' ? 'an object' : String(value);
}

/** The kind of a value in a word: `typeof`, but null, lists and promises have their own. */
export const kindOfValue = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : value instanceof Promise ? PROMISE : typeof value;

const PROMISE = 'a promise (await it)';

/** The known word closest to a misspelt one, or undefined if none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
