import { type Fields, fieldsOf, isFields } from '../json.ts';
import { Rejection } from '../rejection.ts';

interface Marked {
  readonly place: string;
  readonly block: Fields;
}

const MOST_MARKERS = 4;

/** Cache markers: how many, where, and in which order. */
export function checkMarkers(body: Fields): void {
  const marked = markersOf(body);
  for (const { place, block } of marked) checkMarker(place, block);
  const found = marked.length + (isFields(body.cache_control) ? 1 : 0);
  if (found > MOST_MARKERS)
    throw new Rejection(`A maximum of ${MOST_MARKERS} blocks with cache_control may be provided. Found ${found}.`);
  checkOrder(marked);
}

function checkMarker(place: string, { type, text, cache_control: marker }: Fields): void {
  if (type === 'text' && text === '')
    throw new Rejection(`${place}.text: cache_control cannot be set for empty text blocks`);
  const { type: kind, ttl } = marker as Fields;
  if (kind !== 'ephemeral') throw new Rejection(`${place}.cache_control.type: Input should be 'ephemeral'`);
  if (ttl !== undefined && ttl !== '5m' && ttl !== '1h')
    throw new Rejection(`${place}.cache_control.ttl: Input should be '5m' or '1h'`);
}

function checkOrder(marked: readonly Marked[]): void {
  let isShort = false;
  for (const { place, block } of marked) {
    const isHour = (block.cache_control as Fields).ttl === '1h';
    if (isHour && isShort)
      throw new Rejection(
        `${place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. ` +
          'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
      );
    isShort ||= !isHour;
  }
}

/** All marked blocks, in the order in which the prompt is made of them. */
function markersOf({ tools, system, messages }: Fields): Marked[] {
  const found: Marked[] = [];
  const visit = (block: Fields, place: string): void => {
    for (const [i, inner] of fieldsOf(block.content).entries()) visit(inner, `${place}.${block.type}.content.${i}`);
    if (isFields(block.cache_control)) found.push({ place, block });
  };
  for (const [i, tool] of fieldsOf(tools).entries()) visit(tool, `tools.${i}`);
  for (const [i, block] of fieldsOf(system).entries()) visit(block, `system.${i}`);
  for (const [i, { content }] of fieldsOf(messages).entries()) {
    for (const [j, block] of fieldsOf(content).entries()) visit(block, `messages.${i}.content.${j}`);
  }
  return found;
}
