import { hash } from 'node:crypto';
import { type Digest, digestOf } from '../handle.ts';
import type { Reference, SessionNote, TurnRecord } from '../store.ts';
import type { Key } from './linear-hash.ts';
import type { Body } from './log.ts';

/** A text as the log stores it, with its first reference. */
export interface TextBody {
  readonly digest: Digest;
  readonly about: Reference;
  readonly encoding: Encoding;
  /** The text, encoded. */
  readonly bytes: Buffer;
  /** The size of the text in UTF-8. */
  readonly textBytes: number;
}

/** Another reference to a text. */
export interface ReferenceBody {
  readonly digest: Digest;
  /** The previous record of the same session, or 0. */
  readonly before: number;
  /** The previous reference to the same text, or 0. */
  readonly older: number;
  readonly about: Reference;
}

/** The encoding of a text. These numbers are written to disk. */
export type Encoding = typeof UTF8 | typeof ASCII | typeof UTF16;
const UTF8 = 0;
/** Also UTF-8, but faster to read. */
const ASCII = 1;
/** Used for lone surrogates, which UTF-8 cannot hold. */
const UTF16 = 2;

/** The positions of the fields in a text or reference: head, session, tool, and the rest. */
const BEFORE = 32;
const TURN = 40;
const SESSION = 48;
const ENCODING = 49;
const TOOL = 52;
const HEAD = 56;
const NO_TURN = -1;
const NO_TOOL = 2 ** 32 - 1;

export interface NewText extends Body {
  readonly textBytes: number;
}

export function textBody(text: string, { digest, before, about }: Omit<ReferenceBody, 'older'>): NewText {
  const utf8 = Buffer.byteLength(text);
  const encoding = utf8 === text.length ? ASCII : text.isWellFormed() ? UTF8 : UTF16;
  const start = HEAD + aboutLength(about);
  return {
    textBytes: utf8,
    length: start + (encoding === UTF16 ? 2 * text.length : utf8),
    fill(into, at) {
      fillHead(into, at, { digest, before, about });
      into[at + ENCODING] = encoding;
      into.write(text, at + start, ENCODINGS[encoding]);
    },
  };
}

export function referenceBody({ older, ...head }: ReferenceBody): Body {
  const start = HEAD + aboutLength(head.about);
  return {
    length: start + 8,
    fill(into, at) {
      fillHead(into, at, head);
      into.writeDoubleLE(older, at + start);
    },
  };
}

const ENCODINGS = ['utf8', 'latin1', 'utf16le'] as const;

const aboutLength = ({ session, tool }: Reference): number => (session?.length ?? 0) + 2 * (tool?.length ?? 0);

function fillHead(into: Buffer, at: number, { digest, before, about }: Omit<ReferenceBody, 'older'>): void {
  const { session = '', turn = NO_TURN, tool } = about;
  into.write(digest, at, 'latin1');
  into.writeDoubleLE(before, at + BEFORE);
  into.writeDoubleLE(turn, at + TURN);
  into.writeUInt32LE(session.length, at + SESSION);
  into.writeUInt32LE(tool === undefined ? NO_TOOL : 2 * tool.length, at + TOOL);
  if (session !== '') into.write(session, at + HEAD, 'latin1');
  if (tool !== undefined) into.write(tool, at + HEAD + session.length, 'utf16le');
}

export function readText(body: Buffer): TextBody {
  return {
    digest: digestIn(body),
    about: readAbout(body),
    encoding: encodingOf(body),
    bytes: body.subarray(restOf(body)),
    textBytes: textBytesOf(body),
  };
}

export function readReference(body: Buffer): Omit<ReferenceBody, 'before'> {
  return {
    digest: digestIn(body),
    older: body.readDoubleLE(restOf(body)),
    about: readAbout(body),
  };
}

/** The digest that a text or reference begins with. */
export const digestIn = (body: Buffer): Digest => body.toString('latin1', 0, BEFORE);

/** The previous record of the same session. */
export const beforeOf = (body: Buffer): number => body.readDoubleLE(BEFORE);

/** The session, turn and tool of a text or reference. */
export function readAbout(body: Buffer): Reference {
  const turn = body.readDoubleLE(TURN);
  const session = sessionIn(body);
  const toolBytes = body.readUInt32LE(TOOL);
  // Builds the most common object in one step: adding a property later is slower.
  if (session !== undefined && turn !== NO_TURN && toolBytes === NO_TOOL) return { session, turn };
  const about: { session?: string; turn?: number; tool?: string } = session === undefined ? {} : { session };
  if (turn !== NO_TURN) about.turn = turn;
  if (toolBytes !== NO_TOOL) about.tool = body.toString('utf16le', restOf(body) - toolBytes, restOf(body));
  return about;
}

/** The session that a text or reference belongs to. */
export function sessionIn(body: Buffer): string | undefined {
  const length = body[SESSION] as number;
  return length === 0 ? undefined : body.toString('latin1', HEAD, HEAD + length);
}

function restOf(body: Buffer): number {
  const toolBytes = body.readUInt32LE(TOOL);
  return HEAD + (body[SESSION] as number) + (toolBytes === NO_TOOL ? 0 : toolBytes);
}

const encodingOf = (body: Buffer): Encoding => body[ENCODING] as Encoding;

/** The text and its size in UTF-8. The buffer may continue after the body. */
export function decodeText(body: Buffer, length: number): { readonly text: string; readonly bytes: number } {
  const start = restOf(body);
  const encoding = encodingOf(body);
  // ASCII comes first because most texts are ASCII. A constant encoding name is faster than a computed one.
  const text =
    encoding === ASCII ? body.toString('latin1', start, length) : body.toString(ENCODINGS[encoding], start, length);
  return { text, bytes: encoding === UTF16 ? Buffer.byteLength(text) : length - start };
}

export const textIn = ({ bytes, encoding }: TextBody): string => bytes.toString(ENCODINGS[encoding]);

export const textBytesOf = (body: Buffer): number =>
  encodingOf(body) === UTF16 ? decodeText(body, body.length).bytes : body.length - restOf(body);

export function turnBody(before: number, record: TurnRecord): Body {
  const json = JSON.stringify(record);
  return {
    length: 8 + Buffer.byteLength(json),
    fill(into, at) {
      into.writeDoubleLE(before, at);
      into.write(json, at + 8, 'utf8');
    },
  };
}

/** The previous record of the same session. */
export const beforeTurn = (body: Buffer): number => body.readDoubleLE(0);

export const readTurn = (body: Buffer): TurnRecord => JSON.parse(body.toString('utf8', 8));

/** A note has the layout of a text, with its name in place of the tool. */
export const noteBody = (before: number, { session, name, text }: SessionNote): Body =>
  textBody(text, { digest: digestOf(text), before, about: { session, tool: name } });

/** The session of a note, and its name. */
export function readNoteKey(body: Buffer): Omit<SessionNote, 'text'> {
  const { session = '', tool: name = '' } = readAbout(body);
  return { session, name };
}

export const readNote = (body: Buffer): SessionNote => ({
  ...readNoteKey(body),
  text: decodeText(body, body.length).text,
});

export function deletionBody(session: string): Body {
  return { length: session.length, fill: (into, at) => void into.write(session, at, 'latin1') };
}

export const readDeletion = (body: Buffer): string => body.toString('latin1');

/** When a session began and was used: the time of the record. */
export interface UseBody {
  readonly session: string;
  readonly firstAt: number;
  /** The previous use record of any session, or 0. */
  readonly older: number;
}

export function useBody({ session, firstAt, older }: UseBody): Body {
  return {
    length: USE_HEAD + session.length,
    fill(into, at) {
      into.writeDoubleLE(older, at);
      into.writeDoubleLE(firstAt, at + 8);
      into.write(session, at + USE_HEAD, 'latin1');
    },
  };
}

const USE_HEAD = 16;

export const readUse = (body: Buffer): UseBody => ({
  older: body.readDoubleLE(0),
  firstAt: body.readDoubleLE(8),
  session: body.toString('latin1', USE_HEAD),
});

/** Removes all records without a session before this position. */
export const expiryBody = (before: number): Body => ({
  length: 8,
  fill: (into, at) => void into.writeDoubleLE(before, at),
});

export const readExpiry = (body: Buffer): number => body.readDoubleLE(0);

/** The body of a record whose type says everything. */
export const noBody: Body = { length: 0, fill: () => {} };

export const keyOfDigest = (digest: Digest): Key => ({ low: wordOf(digest, 0), high: wordOf(digest, 4) });

/** Uses other bits of the digest than `keyOfDigest`. Kinds may share keys, because the record behind a key is always checked. */
export const referenceKey = (digest: Digest): Key => ({ low: wordOf(digest, 8), high: wordOf(digest, 12) });

/** The key of an item without a digest. */
export const keyOf = (kind: string, name: string): Key => keyOfDigest(hash('sha256', `${kind}\0${name}`, 'binary'));

/** Four bytes as a big-endian number. */
function wordOf(digest: Digest, at: number): number {
  const upper = (digest.charCodeAt(at) << 8) | digest.charCodeAt(at + 1);
  return ((upper << 16) | (digest.charCodeAt(at + 2) << 8) | digest.charCodeAt(at + 3)) >>> 0;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567';
/** The value of each character code. Characters that no handle contains get a value above 31. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => LETTERS.indexOf(String.fromCharCode(code)) & 255);

/** The first 130 bits of a digest, which a handle contains. The key is their beginning. */
export interface NamedKey extends Key {
  readonly third: number;
  readonly fourth: number;
  readonly rest: number;
}

/** The 26 characters of a handle as 5-bit values. */
const parts = new Uint8Array(26);

/** Undefined if the text is no handle. */
export function keyOfHandle(handle: string): NamedKey | undefined {
  if (typeof handle !== 'string' || handle.length !== 2 + parts.length || !handle.startsWith('p_')) return undefined;
  let codes = 0;
  let bits = 0;
  for (let i = 0; i < parts.length; i++) {
    const code = handle.charCodeAt(i + 2);
    const part = VALUES[code & 127] as number;
    parts[i] = part;
    codes |= code;
    bits |= part;
  }
  if (codes > 127 || bits > 31) return undefined;
  const [a, b, c] = [parts[6] as number, parts[12] as number, parts[19] as number];
  const last = parts[25] as number;
  return {
    low: ((bitsFrom(0) << 2) | (a >> 3)) >>> 0,
    high: ((a << 29) | (fiveFrom(7) << 4) | (b >> 1)) >>> 0,
    third: ((b << 31) | (bitsFrom(13) << 1) | (c >> 4)) >>> 0,
    fourth: ((c << 28) | (fiveFrom(20) << 3) | (last >> 2)) >>> 0,
    rest: last & 3,
  };
}

const fiveFrom = (i: number): number =>
  ((parts[i] as number) << 20) |
  ((parts[i + 1] as number) << 15) |
  ((parts[i + 2] as number) << 10) |
  ((parts[i + 3] as number) << 5) |
  (parts[i + 4] as number);

const bitsFrom = (i: number): number => (fiveFrom(i) << 5) | (parts[i + 5] as number);

/** Whether a handle matches the digest of a text or reference. */
export function isNamed(body: Buffer, { low, high, third, fourth, rest }: NamedKey): boolean {
  return (
    body.readUInt32BE(0) === low &&
    body.readUInt32BE(4) === high &&
    body.readUInt32BE(8) === third &&
    body.readUInt32BE(12) === fourth &&
    (body[16] as number) >> 6 === rest
  );
}

/** Whether a text matches its digest. */
export const isIntact = ({ bytes, encoding, digest }: TextBody): boolean =>
  (encoding === UTF16 ? digestOf(bytes.toString('utf16le')) : hash('sha256', bytes, 'binary')) === digest;
