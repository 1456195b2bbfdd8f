import type { Fields } from '../../formats/lens.ts';
import { brokenReplacement } from '../../laws/index.ts';
import { recordLimits } from '../../limits.ts';
import type { ReplaceEdit, Segment } from '../../message.ts';
import { clipText } from '../../text.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { ByteEdit } from '../bytes/splice.ts';
import type { CachedHistory, Listed } from '../conversation/cached-history.ts';
import type { Mask } from '../receipts/receipt.ts';
import type { PlannedRequest } from './plan.ts';
import { placeKey, type ResultPlace } from './read-message.ts';
import type { ReadRequest } from './read-request.ts';

/**
 * Makes each edit once: checks that it keeps the laws, and writes its bytes for this and later requests. Returns the law
 * that an edit breaks.
 */
export function checkEdits(
  { wire, listed }: ReadRequest,
  { planner, checked }: Pick<CachedHistory, 'planner' | 'checked'>,
  edits: readonly ReplaceEdit[],
): string | undefined {
  const { segments } = planner.ledger;
  for (const edit of edits) {
    const segment = segments[edit.segment] as Segment;
    const { read } = listed[segment.message] as Listed;
    if (checked.get(edit)?.read === read) continue;
    const edited = wire.format.edit(read.message, segment, edit.text);
    const broken = brokenReplacement(edit, segment, [read.message, edited]);
    if (broken !== undefined) return broken;
    checked.set(edit, { read, bytes: Buffer.from(write(edited, segment, placeOf(listed, segment))) });
  }
  return undefined;
}

/** The changes that an edit makes to the bytes of a request. */
export function byteEdits(
  { listed }: ReadRequest,
  { planner, checked }: Pick<CachedHistory, 'planner' | 'checked'>,
  edit: ReplaceEdit,
): ByteEdit[] {
  const segment = planner.ledger.segments[edit.segment] as Segment;
  const { start } = listed[segment.message] as Listed;
  const place = placeOf(listed, segment);
  const bytes = checked.get(edit)?.bytes ?? NOTHING;
  const change = { start: start + place.start, end: start + place.end, bytes };
  if (!place.attachments) return [change];
  return [change, { start: start + place.attachments.start, end: start + place.attachments.end, bytes: NOTHING }];
}

const NOTHING = new Uint8Array();

function placeOf(listed: readonly Listed[], { message, path }: Segment): ResultPlace {
  const place = listed[message]?.read.results.get(placeKey(path));
  if (!place) throw new Error(`no place for the result in message ${message}`);
  return place;
}

function write(edited: object, { path }: Segment, { member, markers }: ResultPlace): string {
  let value: unknown = edited;
  for (const key of path) value = (value as Fields)[key];
  if (member !== undefined) return JSON.stringify((value as Fields)[member]);
  const json = JSON.stringify(value);
  return markers === '' ? json : `${json.slice(0, -2)}${markers}}]`;
}

/** The edits that the last request did not carry yet, in the order of the messages. `sent` has its edits by segment. */
export function changedSince(
  sent: ReadonlyMap<number, ReplaceEdit>,
  edits: readonly ReplaceEdit[],
): readonly ReplaceEdit[] {
  return edits.filter(({ segment, text }) => sent.get(segment)?.text !== text);
}

type Sized = Pick<PlannedRequest, 'hidden' | 'segments' | 'history'>;

/** Edits as a receipt shows them. */
export function toMasks(planned: Sized, edits: readonly ReplaceEdit[]): Mask[] {
  if (edits.length === 0) return [];
  const texts = new Map(planned.hidden.map(({ handle, text }) => [handle, text]));
  return edits.map((edit) => toMask(planned, edit, texts.get(edit.handle ?? '') ?? ''));
}

function toMask({ segments, history }: Sized, { segment, text, handle = '' }: ReplaceEdit, original: string): Mask {
  const { turn, tool, text: read, media } = segments[segment] as Segment;
  // Mostly the text as it was read, which the ledger has counted.
  const known = read === original && !media ? history.planner.ledger.segmentTokens[segment] : undefined;
  const tokens = Math.max(0, (known ?? countTokens(original)) - countTokens(text));
  const named = tool === undefined ? {} : { tool: clipText(tool, recordLimits.toolChars) };
  return { handle, turn, ...named, placeholder: text, chars: original.length, tokens };
}
