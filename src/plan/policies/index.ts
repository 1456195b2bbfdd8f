import { PalimpsestError } from '../../errors.ts';
import { nearest } from '../../options.ts';
import type { Policy, PolicySpec } from '../policy.ts';
import { breakEven } from './break-even.ts';
import { clearToolUses } from './clear-tool-uses.ts';
import { firstAndLast } from './first-and-last.ts';
import { graduated } from './graduated.ts';
import { hybrid } from './hybrid.ts';
import { never } from './never.ts';
import { oldestBatch } from './oldest-batch.ts';
import { geminiCli, protectTokens } from './protect-tokens.ts';
import { openHands, polling, slidingWindow, sweAgent } from './sliding-window.ts';

type Maker = (options: never) => Policy;

/** Every ready-made policy by its name on the command line. */
export const policies: Readonly<Record<string, Maker>> = {
  'sliding-window': slidingWindow,
  'swe-agent': sweAgent,
  'open-hands': openHands,
  polling,
  'first-and-last': firstAndLast,
  'oldest-batch': oldestBatch,
  'protect-tokens': protectTokens,
  'gemini-cli': geminiCli,
  'clear-tool-uses': clearToolUses,
  hybrid,
  'break-even': breakEven,
  graduated,
  never,
};

/**
 * Reads `sliding-window:turns=3,min-tokens=0`. Lists are written with `+`: `keep-tools=read+grep`.
 *
 * @example
 * ```ts
 * import { fit, parsePolicy } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: parsePolicy('sliding-window:turns=3') });
 * ```
 */
export function parsePolicy(text: string): Policy {
  return makePolicy(readSpec(text));
}

/** Makes a policy by its name. */
export function makePolicy({ name, options }: PolicySpec): Policy {
  const maker = Object.hasOwn(policies, name) ? policies[name] : undefined;
  if (!maker) throw unknownPolicy(name, Object.keys(policies));
  return maker(options as never);
}

export function readSpec(text: string): PolicySpec {
  const [name, rest] = split(text, ':');
  return { name, options: Object.fromEntries(rest === '' ? [] : rest.split(',').map(readOption)) };
}

function split(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + 1)];
}

const LISTS = new Set(['keepTools', 'onlyTools', 'keepTags', 'removeTags', 'excludeTools']);

function readOption(text: string): [string, unknown] {
  const [key, value] = split(text.trim(), '=');
  const name = key.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (LISTS.has(name)) return [name, value.split('+')];
  if (value === 'true' || value === 'false') return [name, value === 'true'];
  return [name, value.trim() !== '' && !Number.isNaN(Number(value)) ? Number(value) : value];
}

export function unknownPolicy(name: string, known: readonly string[]): PalimpsestError {
  const near = nearest(name, known);
  const hint = near ? `did you mean ${near}?` : `known are ${known.join(', ')}.`;
  return new PalimpsestError('BAD_OPTION', `Expected option policy to be a known policy but found '${name}'; ${hint}`);
}
