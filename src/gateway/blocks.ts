import { asString, type Fields, isRecord } from '../formats/lens.ts';
import type { JsonScan, Member } from './json-scan.ts';
import { memberRange, type Range } from './member-range.ts';

/** A block of a message's content. Places count from the start of the message. */
export interface BlockPlace {
  /** Its index in the content. */
  readonly index: number;
  /** Before the bracket that closes it. */
  readonly close: number;
  /** Whether a marker may be put on it. */
  readonly canCarry: boolean;
  /** Those on parts inside it, then the one on it. */
  readonly markers: readonly MarkerPlace[];
  /** What says that it has none, such as `null`: one of ours takes its place. */
  readonly vacant: Range | undefined;
}

/** A cache marker. */
export interface MarkerPlace extends Range {
  readonly ttl: string | undefined;
  /** It stands on a part inside the block, and goes or stays with that. */
  readonly isInner: boolean;
}

/** Thinking and empty texts cannot carry one. */
const CARRIERS = new Set(['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result', 'server_tool_use']);

/** The blocks of the message that was scanned last; none where its content is a text. */
export function readBlocks(scan: JsonScan, message: Fields): BlockPlace[] {
  const content = [...scan.members(0)].findLast(({ name }) => name === 'content');
  if (!content || !scan.isList(content.value)) return [];
  const parsed = message.content as readonly unknown[];
  return [...scan.elements(content.value)].flatMap((value, index) => {
    const block = parsed[index];
    return isRecord(block) ? [readBlock(scan, value, { block, index })] : [];
  });
}

function readBlock(scan: JsonScan, value: number, { block, index }: { block: Fields; index: number }): BlockPlace {
  const member = markerMember(scan, value);
  const isVacant = member !== undefined && !scan.isObject(member.value);
  return {
    index,
    close: scan.end(value) - 1 - scan.start(0),
    canCarry: CARRIERS.has(asString(block.type) ?? '') && !(block.type === 'text' && !block.text),
    markers: [...innerMarkers(scan, value), ...markersOf(scan, value, false)],
    vacant: isVacant ? rangeOf(scan, member.value) : undefined,
  };
}

const rangeOf = (scan: JsonScan, value: number): Range => ({
  start: scan.start(value) - scan.start(0),
  end: scan.end(value) - scan.start(0),
});

function markerMember(scan: JsonScan, block: number): Member | undefined {
  return [...scan.members(block)].findLast(({ name }) => name === 'cache_control');
}

function markersOf(scan: JsonScan, block: number, isInner: boolean): MarkerPlace[] {
  const member = markerMember(scan, block);
  if (!member || !scan.isObject(member.value)) return [];
  return [{ ...memberRange(scan, member), ttl: ttlOf(scan, member), isInner }];
}

function ttlOf(scan: JsonScan, { value }: Member): string | undefined {
  const text = Buffer.from(
    scan.bytes.buffer,
    scan.bytes.byteOffset + scan.start(value),
    scan.end(value) - scan.start(value),
  );
  return asString((JSON.parse(text.toString()) as Fields).ttl);
}

/** In the parts of a tool result. */
function innerMarkers(scan: JsonScan, block: number): MarkerPlace[] {
  const content = [...scan.members(block)].findLast(({ name }) => name === 'content');
  if (!content || !scan.isList(content.value)) return [];
  const parts = [...scan.elements(content.value)].filter((part) => scan.isObject(part));
  return parts.flatMap((part) => markersOf(scan, part, true));
}
