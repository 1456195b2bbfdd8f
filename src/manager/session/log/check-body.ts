import { PalimpsestError } from '../../../errors.ts';
import { isRecord } from '../../../formats/lens.ts';
import { amount, count, flag, names, oneOf, positive, type Rule, rule, text } from '../../../options.ts';
import { isCut } from '../../../plan/held-cut.ts';
import type { ArrivalSettings, LoggedEvent, Mask } from '../session-event.ts';
import { isKnownDamage } from './damage.ts';

/** Throws for an event that could be written but not read back. */
export function checkBody(body: object): void {
  const own = STAMP.find((name) => Object.hasOwn(body, name));
  if (own !== undefined)
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected an event without the field ${own}, which the log writes itself, but found one; give it another name`,
    );
  const wrong = wrongField(body);
  if (!wrong) return;
  const { type } = body as { type?: unknown };
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected ${wrong.name} of an event ${String(type)} to be ${wrong.expected} but it is not`,
  );
}

/** Refuses events that only the session itself writes: they would change its state. */
export function checkLogged(event: LoggedEvent): LoggedEvent {
  if (LOGGED.includes(event?.type) || String(event?.type).startsWith('x_')) return event;
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected an event of type ${LOGGED.join(', ')}, or x_ and a name of your own, but found ${String(event?.type)}`,
  );
}

const LOGGED = [
  'token_usage',
  'run_start',
  'session_end',
  'status_change',
  'approval_required',
  'approval_decision',
  'tools_skipped',
  'error',
];

/** Whether an event has all fields that a session reads. Events of unknown types always pass. */
export const isBody = (body: object): boolean => wrongField(body) === undefined;

function wrongField(body: object): { readonly name: string; readonly expected: string } | undefined {
  const { type } = body as { type?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(FIELDS, type)) return undefined;
  const fields = Object.entries(FIELDS[type] ?? {});
  const wrong = fields.find(([name, { check }]) => !check((body as Record<string, unknown>)[name]));
  return wrong && { name: wrong[0], expected: wrong[1].expected };
}

const STAMP = ['seq', 'time', 'batch'];

const something = rule('a message', (v) => v !== undefined && v !== null);
const listOf = (expected: string, isItem: (item: unknown) => boolean): Rule =>
  rule(expected, (v) => Array.isArray(v) && v.every(isItem));
const status = oneOf('active', 'paused', 'completed');

function isMask(value: unknown): boolean {
  const mask = value as Partial<Mask> | null;
  return typeof mask?.message === 'string' && count.check(mask.segment) && typeof mask.text === 'string';
}

const isPlace = (value: unknown): boolean => isMask({ ...(value as object), text: '' });

const tokensOrFalse = rule('a number of tokens or false', (v) => v === false || positive.check(v));

const ARRIVAL: Readonly<Record<keyof ArrivalSettings, Rule>> = {
  clean: flag,
  references: flag,
  shell_output: tokensOrFalse,
  truncate: tokensOrFalse,
  truncation: oneOf('head', 'tail', 'both'),
};

const isArrival = (value: unknown): boolean =>
  isRecord(value) && Object.entries(ARRIVAL).every(([name, { check }]) => check(value[name]));

const isOptional = (is: (value: unknown) => boolean) => (v: unknown) => v === undefined || is(v);

function isState(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { shaped, arrival } = value;
  if (!isOptional(listOf('', isMask).check)(shaped) || !isOptional(isArrival)(arrival)) return false;
  const { format, number, messages, left_out, masks, notes, approvals, skipped } = value;
  const isComplete = text.check(format) && positive.check(number) && status.check(value.status);
  const areLists = names.check(messages) && names.check(left_out) && listOf('', isRecord).check(notes);
  return isComplete && areLists && listOf('', isMask).check(masks) && isRecord(approvals) && isRecord(skipped);
}

const FIELDS: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  session_start: { format: text, arrival: rule('how results are made smaller', isOptional(isArrival)) },
  arrival: ARRIVAL,
  arrival_skipped: { results: listOf('a list of results', isPlace) },
  cold_epoch: { masks: listOf('a list of masks', isMask) },
  message: { message: something, before: rule('the key of a message', (v) => v === undefined || text.check(v)) },
  token_usage: { prompt_tokens: amount, completion_tokens: amount },
  context_mask: { observations_masked: count, masks: listOf('a list of masks', isMask) },
  context_cut: { cut: rule('a cut, or null', (v) => v === null || isCut(v)) },
  context_summary: { replaced: text },
  session_restart: { session_number: positive, messages: listOf('a list of messages', something.check) },
  status_change: { to: status },
  approval_required: { call_id: text, tool: text },
  approval_decision: { call_id: text },
  tools_skipped: { call_ids: names, reason: text },
  damage_acknowledged: { lines: count, missing: listOf('a list of sequence numbers', count.check) },
  checkpoint: {
    damage: rule('known damage', (v) => v === undefined || isKnownDamage(v)),
    archive_bytes: count,
    state: rule('what a session amounts to', isState),
  },
};
