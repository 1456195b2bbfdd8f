import { crc32 } from 'node:zlib';
import { PalimpsestError } from '../../../errors.ts';
import { sessionLimits } from '../../../limits.ts';
import type { EventBody, SessionEvent } from '../session-event.ts';
import { checkBody, isBody } from './check-body.ts';
import { decodeValue, encodeValue, isTooLong } from './encode-value.ts';

/** The position of an event's line. */
export interface Place {
  /** On disk, the byte where the line begins. In a database, the number of the event. */
  readonly offset: number;
  /** The length of the line. On disk, this includes the newline. */
  readonly bytes: number;
}

/** When an event was written, and with which others. */
interface LineStamp {
  readonly seq: number;
  readonly time: string;
  /** The sequence number of the first event in the same batch. A batch is written and synced together. */
  readonly batch: number;
}

/** An event as it was read. */
export interface ReadEvent<M> {
  readonly event: SessionEvent<M>;
  readonly batch: number;
}

/** Encodes an event as JSON. This happens before the event is queued, so that an invalid event is refused at once. */
export function encodeBody<M>(body: EventBody<M>, most: number = sessionLimits.eventChars): string {
  checkBody(body);
  const json = toJson(body);
  if (json !== undefined && json.length <= most) return json;
  const found = json === undefined ? 'more than a string can hold' : String(json.length);
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected an event of at most ${most} characters as JSON but found ${found}; add it in parts, or where it can be found`,
  );
}

function toJson(body: object): string | undefined {
  try {
    return encodeValue(body);
  } catch (error) {
    if (isTooLong(error)) return undefined;
    throw error;
  }
}

/** Adds sequence number, time and batch at the start of an encoded event. */
export function stampBody(body: string, { seq, time, batch }: LineStamp): string {
  const together = batch === seq ? '' : `"batch":${batch},`;
  return `{"seq":${seq},"time":"${time}",${together}${body.slice(1)}`;
}

/** Puts a checksum of the fields in front of them. It reveals any flipped bit in the line. */
export const seal = (fields: string): string => `${CHECKSUM}${hex(crc32(fields))}",${fields}`;

/** The start of every line. */
export const CHECKSUM = '{"crc32":"';

const SEALED = /^\{"crc32":"([0-9a-f]{8})",(?="seq")/;
const SEAL_CHARS = CHECKSUM.length + 10;

const hex = (checksum: number): string => checksum.toString(16).padStart(8, '0');

/** The JSON of a line without its checksum. Undefined if the checksum is missing or wrong. */
export function unseal(line: string): string | undefined {
  const found = SEALED.exec(line)?.[1];
  if (found === undefined) return undefined;
  const fields = line.slice(SEAL_CHARS);
  return hex(crc32(fields)) === found ? `{${fields}` : undefined;
}

/** An event as a line, with checksum and newline. */
export const toLine = (event: string): string => `${seal(event.slice(1))}\n`;

/** Undefined for a damaged line, or a line that is no event. */
export function readEvent<M>(line: string): ReadEvent<M> | undefined {
  const json = unseal(line);
  return json === undefined ? undefined : parseEvent<M>(json);
}

/** Reads what `stampBody` wrote. */
export function parseEvent<M>(json: string): ReadEvent<M> | undefined {
  let value: Partial<SessionEvent<M>> & { batch?: unknown };
  try {
    value = decodeValue(json) as typeof value;
  } catch {
    return undefined;
  }
  const { seq, time, type, batch = seq, ...fields } = value ?? {};
  if (!isSeq(seq) || !isSeq(batch) || !isTime(time) || typeof type !== 'string') return undefined;
  const event = { seq, time, type, ...fields };
  return isBody(event) ? { event: event as unknown as SessionEvent<M>, batch } : undefined;
}

const isSeq = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < sessionLimits.events;

/** The pattern is strict because a read time is written again, unescaped, if the clock goes backwards. */
const isTime = (value: unknown): value is string => typeof value === 'string' && /^[-+\d][-+:.\dTZ]*$/.test(value);
