import { crc32 } from 'node:zlib';
import { parse } from 'yaml';
import { isRecord } from '../../../formats/lens.ts';
import type { ConversationState } from '../conversation/conversation.ts';
import type { SessionNames } from '../session-storage.ts';
import { isKnownDamage, type KnownDamage } from './damage.ts';
import { decodeValue, encodeValue } from './encode-value.ts';
import type { Place } from './event-line.ts';

/** The state up to an event, and the positions of its messages in the log. */
export interface Snapshot<M> {
  readonly id: string;
  readonly format: string;
  /** The last event that the snapshot covers, its time, and where it ends in the log. */
  readonly seq: number;
  readonly time: string;
  readonly offset: number;
  readonly archive_bytes: number;
  /** Damage that was found so far. */
  readonly damage?: KnownDamage;
  readonly state: Omit<ConversationState<M>, 'messages'>;
  readonly messages: readonly (readonly [key: string, place: Place])[];
}

const VERSION = 1;

/** A snapshot as text, with its checksum. */
export const snapshotText = <M>(snapshot: Snapshot<M>, { events }: SessionNames): string =>
  seal(toYaml(snapshot, events));

/** Writes YAML directly: JSON is valid YAML, and long lists are blocks of lines, which are quick to write and read. */
function toYaml<M>({ state, messages, ...about }: Snapshot<M>, events: string): string {
  const { masks, notes, left_out, shaped, ...counts } = state;
  const field = ([name, value]: [string, unknown]): string => `${name}: ${encodeValue(value)}\n`;
  const block = (name: string, lines: readonly string[]): string =>
    lines.length === 0 ? `${name}: ''\n` : `${name}: |\n${lines.map((line) => `  ${line}\n`).join('')}`;
  return [
    `# Written by Palimpsest, to open the session quickly. The truth is in ${events}, which is enough without this.\n`,
    ...Object.entries({ version: VERSION, ...about, ...counts }).map(field),
    block('left_out', left_out),
    block('masks', masks.map(encodeValue)),
    block('notes', notes.map(encodeValue)),
    ...(shaped ? [block('shaped', shaped.map(encodeValue))] : []),
    `# event, and the place of its line in ${events}\n`,
    block(
      'messages',
      messages.map(([key, { offset, bytes }]) => `${key} ${offset} ${bytes}`),
    ),
  ].join('');
}

const BLOCKS = ['left_out', 'masks', 'notes', 'messages'] as const;

/** Adds a checksum. It reveals flipped bits and manual changes. */
const seal = (yaml: string): string => `${yaml}${CHECKSUM}"${crc32(yaml).toString(16).padStart(8, '0')}"\n`;
const CHECKSUM = 'checksum: ';

/** Reads what `snapshotText` wrote. Throws for anything else. */
export function readSnapshotText<M>(text: string): Snapshot<M> {
  if (text !== seal(text.slice(0, text.lastIndexOf(CHECKSUM)))) throw new Error('expected it as it was written');
  const found = parse(text) as Record<string, unknown> | null;
  if (found?.version !== VERSION) throw new Error(`expected version ${VERSION} but found ${String(found?.version)}`);
  if (!BLOCKS.every((name) => typeof found[name] === 'string')) throw new Error('expected more fields');
  const [leftOut = [], masks = [], notes = [], places = []] = BLOCKS.map((name) => linesOf(found[name] as string));
  const {
    version: _version,
    id,
    format,
    seq,
    time,
    offset,
    archive_bytes,
    damage,
    messages: _messages,
    checksum: _checksum,
    ...counts
  } = decodeValue(JSON.stringify(found)) as { version: number; checksum: string } & Snapshot<M>;
  // Absent in snapshots of older versions.
  const shaped = typeof found.shaped === 'string' ? { shaped: linesOf(found.shaped).map(decodeValue) } : {};
  const texts = { masks: masks.map(decodeValue), notes: notes.map(decodeValue), ...shaped };
  const state = { ...counts, left_out: leftOut, ...texts };
  const areTexts = [id, format, time].every((value) => typeof value === 'string');
  if (!areTexts || ![seq, offset, archive_bytes].every(Number.isSafeInteger) || !isState(state))
    throw new Error('expected more fields');
  if (damage !== undefined && !isKnownDamage(damage)) throw new Error('expected a list of damage');
  return {
    ...{ id, format, seq, time, offset, archive_bytes },
    ...(damage === undefined ? {} : { damage }),
    state: state as unknown as Snapshot<M>['state'],
    messages: places.map(readPlace),
  };
}

const linesOf = (block: string): string[] => block.split('\n').filter((line) => line !== '');

function isState(state: object): boolean {
  const { number, approvals, skipped } = state as Partial<ConversationState<unknown>>;
  return Number.isSafeInteger(number) && [approvals, skipped].every(isRecord);
}

function readPlace(line: string): readonly [string, Place] {
  const [key = '', offset, bytes] = line.split(' ');
  const place = { offset: Number(offset), bytes: Number(bytes) };
  if (![place.offset, place.bytes].every(Number.isSafeInteger)) throw new Error(`expected a place but found ${line}`);
  return [key, place];
}
