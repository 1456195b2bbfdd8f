import { handleOf } from '../handle.ts';
import type { Handle, Reference, Stored } from '../store.ts';
import { fromBytes } from '../text-bytes.ts';
import type { BinaryRow, Row } from './connection.ts';
import { type FoundReference, fromLine } from './references.ts';

/** Texts in the order of the handles that were asked for. Handles without a text are left out. */
export interface FoundTexts {
  readonly sound: readonly Stored[];
  readonly damaged: readonly Handle[];
}

/** A text under the handle that it has. */
export interface FoundText {
  readonly handle: Handle;
  readonly text: string;
}

/** Takes one text that has arrived. */
export const toFoundText = (text: string): FoundText => ({ handle: handleOf(text), text });

/**
 * Takes rows with a text or a reference. Texts come without their handles, which are computed from them anyway. If one of the texts
 * was not asked for, every handle without a text counts as damaged. Those may also be UTF-16, or missing: `fromHexRows` tells.
 */
export function fromBinaryRows(handles: readonly Handle[], rows: readonly BinaryRow<FoundText>[]): FoundTexts {
  const texts = new Map<Handle, string>();
  const references = new References();
  let count = 0;
  for (const [found, reference] of rows) {
    if (reference !== null) references.add(reference);
    if (found === null) continue;
    texts.set(found.handle, found.text);
    count++;
  }
  const sound = storedOf(handles, texts, references);
  return { sound, damaged: sound.length === count ? [] : handles.filter((handle) => !texts.has(handle)) };
}

/** Takes rows with a handle and a text in hexadecimal, or with a reference. */
export function fromHexRows(handles: readonly Handle[], rows: readonly Row[]): FoundTexts {
  const texts = new Map<Handle, string>();
  const references = new References();
  const damaged: Handle[] = [];
  for (const { handle, body, reference } of rows) {
    if (typeof reference === 'string') references.add(reference);
    if (typeof handle !== 'string' || typeof body !== 'string') continue;
    const text = fromBytes(Buffer.from(body, 'hex'));
    if (handleOf(text) === handle) texts.set(handle, text);
    else damaged.push(handle);
  }
  return { sound: storedOf(handles, texts, references), damaged };
}

function storedOf(handles: readonly Handle[], texts: ReadonlyMap<Handle, string>, references: References): Stored[] {
  const stored: Stored[] = [];
  for (const handle of handles) {
    const text = texts.get(handle);
    if (text !== undefined)
      stored.push({ handle, text, bytes: Buffer.byteLength(text), refs: references.inOrder(handle) });
  }
  return stored;
}

/** The references of each handle. */
class References {
  readonly #found = new Map<Handle, FoundReference[]>();

  add(lines: string): void {
    for (const line of lines.split('\n')) {
      const reference = fromLine(line);
      const known = this.#found.get(reference.handle);
      if (known) known.push(reference);
      else this.#found.set(reference.handle, [reference]);
    }
  }

  /** In the order of arrival. */
  inOrder(handle: Handle): Reference[] {
    const found = this.#found.get(handle) ?? [];
    if (found.length > 1) found.sort((a, b) => a.seq - b.seq);
    return found.map(({ reference }) => reference);
  }
}
