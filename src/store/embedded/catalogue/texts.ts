import { clashError } from '../../check-input.ts';
import { type Digest, digestOf, handleOfDigest } from '../../handle.ts';
import type { Reference, Stored } from '../../store.ts';
import type { Entry, Key } from '../linear-hash.ts';
import { type Glimpse, type LogRecord, REFERENCE, TEXT } from '../log.ts';
import type { Spot } from '../log-file.ts';
import {
  decodeText,
  digestIn,
  isNamed,
  keyOfDigest,
  keyOfHandle,
  readAbout,
  readReference,
  readText,
  referenceBody,
  type TextBody,
  textBody,
  textBytesOf,
} from '../records.ts';
import type { Chains, Head } from './chains.ts';
import type { Deletions } from './deletions.ts';
import { entryOf, type IndexedLog, NO_SESSION, type Sought } from './indexed-log.ts';
import type { References } from './references.ts';

/** A text to store. `time`: when a copied text was first stored. */
export interface NewText {
  readonly text: string;
  readonly about: Reference;
  readonly time?: number;
}

/** One more reference to a text that is stored already. */
export interface NewReference {
  readonly digest: Digest;
  readonly about: Reference;
  readonly time?: number;
}

export interface FoundText extends TextBody {
  readonly position: number;
  readonly recordBytes: number;
}

interface TextsParts {
  readonly log: IndexedLog;
  readonly deletions: Deletions;
  readonly chains: Chains;
  readonly references: References;
}

/** Each text once, by its handle or its digest. Putting it again adds a reference. */
export class Texts {
  readonly #log: IndexedLog;
  readonly #deletions: Deletions;
  readonly #chains: Chains;
  readonly #references: References;

  constructor({ log, deletions, chains, references }: TextsParts) {
    this.#log = log;
    this.#deletions = deletions;
    this.#chains = chains;
    this.#references = references;
  }

  put({ text, about, time }: Required<NewText>): Digest {
    const digest = digestOf(text);
    const key = keyOfDigest(digest);
    this.#chains.flushIfUnwritten(key);
    // A damaged text is stored again.
    const { found: known, damagedAt } = this.#seek(digest);
    if (known && known.digest !== digest) throw clashError(handleOfDigest(digest));
    const head = this.#chains.headOf(about.session ?? NO_SESSION);
    this.#chains.use(head, time);
    if (known && this.#references.has(known, about)) return digest;
    if (!known) {
      const body = textBody(text, { digest, before: head.position, about });
      // A text that was stored before and lost may still have references.
      const isShared = (damagedAt > 0 || this.#log.counts.orphans > 0) && this.#references.headOf(digest) > 0;
      const written = (spot: Spot): void => this.#add(key, { spot, textBytes: body.textBytes, isShared });
      this.#chains.append({ type: TEXT, time }, body, written, head);
    } else this.#appendReference({ digest, about, time }, head);
    this.#chains.addUnwritten(key);
    return digest;
  }

  /**
   * Adds a reference to a stored text. Returns false if the text is not stored. Neither the text nor its other references
   * are read, so a compaction that copies many references to one text takes the same time for each.
   */
  putReference(reference: Required<NewReference>): boolean {
    const { digest, about, time } = reference;
    const key = keyOfDigest(digest);
    this.#chains.flushIfUnwritten(key);
    if (!this.#isStored(digest)) return false;
    const head = this.#chains.headOf(about.session ?? NO_SESSION);
    this.#chains.use(head, time);
    this.#appendReference(reference, head);
    this.#chains.addUnwritten(key);
    return true;
  }

  #isStored(digest: Digest): boolean {
    const isIt = ({ position }: Entry): boolean => this.#log.file.beginsWith({ type: TEXT, position }, digest);
    return this.#log.index.find(keyOfDigest(digest), isIt) !== undefined;
  }

  #appendReference({ digest, about, time }: Required<NewReference>, head: Head): void {
    const older = this.#references.headOf(digest);
    const body = referenceBody({ digest, before: head.position, older, about });
    const written = (spot: Spot): void => this.#references.add(digest, older, spot);
    this.#chains.append({ type: REFERENCE, time }, body, written, head);
  }

  /** Applies a text that is already in the log. */
  apply(record: LogRecord): void {
    const digest = digestIn(record.body);
    const isShared = this.#references.headOf(digest) > 0;
    this.#add(keyOfDigest(digest), { spot: record, textBytes: textBytesOf(record.body), isShared });
  }

  /** Applies a reference that is already in the log. */
  applyReference(record: LogRecord): void {
    this.#references.add(digestIn(record.body), readReference(record.body).older, record);
  }

  #add(key: Key, { spot, textBytes, isShared }: AddedText): void {
    const { index, counts } = this.#log;
    index.add(key, entryOf(spot, isShared));
    counts.texts += 1;
    counts.textBytes += textBytes;
  }

  /** The text of a handle and its references. Throws if it is damaged. */
  find(handle: string): Stored | undefined {
    const key = keyOfHandle(handle);
    if (!key) return undefined;
    let stored: Stored | undefined;
    let damagedAt = 0;
    this.#log.index.find(key, (entry) => {
      const record = this.#glance(entry);
      if (!record) damagedAt = entry.position;
      else if (record.type === TEXT && isNamed(record.body, key)) stored = this.#stored(handle, record, entry);
      return stored !== undefined;
    });
    // The damaged record is most likely this text. An error is better than the answer that it does not exist.
    if (!stored && damagedAt > 0) throw this.#log.damaged(damagedAt);
    return stored;
  }

  /** Reads fully any record that does not look like a text: its type may be damaged. */
  #glance(entry: Entry): Glimpse | undefined {
    const glimpse = this.#log.file.glance(entry);
    if (glimpse?.type === TEXT) return glimpse;
    const record = this.#log.file.read(entry.position, entry.bytes);
    return record && { ...record, length: record.body.length };
  }

  #stored(handle: string, record: Glimpse, entry: Entry): Stored {
    const { text, bytes } = decodeText(record.body, record.length);
    return { handle, text, bytes, refs: this.#referencesOf(record, entry) };
  }

  #referencesOf({ body, position }: Glimpse, { isMarked }: Entry): Reference[] {
    const about = readAbout(body);
    if (isMarked) return this.#references.of({ digest: digestIn(body), about, position });
    return this.#deletions.has(about, position) ? [] : [about];
  }

  of(digest: Digest): FoundText | undefined {
    return this.#seek(digest).found;
  }

  #seek(digest: Digest): Sought<FoundText> {
    return this.#log.seek(keyOfDigest(digest), ({ type, body, position, bytes }) =>
      type === TEXT && isAlike(digestIn(body), digest)
        ? { ...readText(body), position, recordBytes: bytes }
        : undefined,
    );
  }

  /** Removes a text if no reference to it is left. */
  removeUnreferenced(digest: Digest): void {
    const { index, counts } = this.#log;
    const text = this.of(digest);
    if (!text || this.#references.hasAny(text)) return;
    index.remove(keyOfDigest(digest), text.position);
    this.#references.remove(digest);
    counts.texts -= 1;
    counts.textBytes -= text.textBytes;
    counts.deadBytes += text.recordBytes;
  }
}

interface AddedText {
  readonly spot: Spot;
  readonly textBytes: number;
  /** Whether there are references to it. */
  readonly isShared: boolean;
}

/** Compares slightly fewer bits than a handle holds. */
const isAlike = (a: Digest, b: Digest): boolean => a.slice(0, 16) === b.slice(0, 16);
