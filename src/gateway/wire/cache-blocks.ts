import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import type { JsonScan, Member } from '../bytes/json-scan.ts';
import { memberRange, type Range, valueRange } from '../bytes/member-range.ts';

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
  const content = lastMember(scan, 0, 'content');
  if (!content || !scan.isList(content.value)) return [];
  const parsed = message.content as readonly unknown[];
  return scan.elements(content.value).flatMap((value, index) => {
    const block = parsed[index];
    return isRecord(block) ? [readBlock(scan, value, { block, index })] : [];
  });
}

function readBlock(scan: JsonScan, value: number, { block, index }: { block: Fields; index: number }): BlockPlace {
  const own = lastMember(scan, value, 'cache_control');
  return {
    index,
    close: valueRange(scan, value).end - 1,
    canCarry: CARRIERS.has(asString(block.type) ?? '') && !(block.type === 'text' && !block.text),
    markers: [...innerMarkers(scan, value), ...markerAt(scan, own, false)],
    vacant: own && !scan.isObject(own.value) ? valueRange(scan, own.value) : undefined,
  };
}

/** On the parts of a result or a document, and on theirs. */
function* innerMarkers(scan: JsonScan, block: number): Iterable<MarkerPlace> {
  for (const { name, value } of scan.members(block)) {
    if (name !== 'content' && name !== 'source') continue;
    for (const part of scan.isList(value) ? scan.elements(value) : [value]) {
      if (!scan.isObject(part)) continue;
      yield* innerMarkers(scan, part);
      yield* markerAt(scan, lastMember(scan, part, 'cache_control'), true);
    }
  }
}

function markerAt(scan: JsonScan, member: Member | undefined, isInner: boolean): MarkerPlace[] {
  if (!member || !scan.isObject(member.value)) return [];
  return [{ ...memberRange(scan, member), ttl: ttlOf(scan, member), isInner }];
}

function ttlOf(scan: JsonScan, { value }: Member): string | undefined {
  return asString((JSON.parse(scan.text(value)) as Fields).ttl);
}

/** Where a key stands twice, readers take the last. */
function lastMember(scan: JsonScan, object: number, name: string): Member | undefined {
  return scan.members(object).findLast((member) => member.name === name);
}
