import { type BrotliDecompress, createBrotliDecompress, createGunzip, createInflate, type Unzip } from 'node:zlib';
import { readUsage } from '../manager/usage.ts';
import { headerOf, type RawHeaders } from './headers.ts';
import { parseJson } from './parse-json.ts';

/** What a provider says that a request took. */
export interface Usage {
  /** Read from its cache. */
  readonly cached: number;
  /** Prompt tokens that were not. */
  readonly written: number;
  readonly completionTokens: number;
  /** Thinking blocks that it left out because the history before them had changed. */
  readonly droppedThinking?: number;
}

/** Longer lines and documents are not looked into. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Finds the usage in a copy of an answer, a stream of events or one document. It holds back nothing. */
export class UsageReader {
  /** The answer is a stream of events. */
  readonly isEvents: boolean;
  readonly #decoder: Decoder | undefined;
  readonly #isReadable: boolean;
  /** Of the line, or of the document, that is not complete yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #decodedBytes = 0;
  #usage: Fields | undefined;
  #droppedThinking = 0;

  constructor(headers: RawHeaders) {
    this.isEvents = headerOf(headers, 'content-type')?.includes('event-stream') === true;
    const encoding = headerOf(headers, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
    this.#decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding]?.() : undefined;
    this.#isReadable = encoding === 'identity' || this.#decoder !== undefined;
    this.#decoder?.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#decoder?.on('error', () => {});
  }

  push(chunk: Buffer): void {
    if (!this.#isReadable) return;
    if (this.#decoder) this.#decoder.write(chunk);
    else this.#take(chunk);
  }

  /** What was found. Undefined where the provider said nothing, or nothing that can be read. */
  async end(): Promise<Usage | undefined> {
    if (this.#decoder) await ended(this.#decoder);
    if (this.#pendingBytes > 0) this.#read(this.#takePending());
    return toUsage(this.#usage, this.#droppedThinking);
  }

  #take(chunk: Buffer): void {
    this.#decodedBytes += chunk.length;
    if (this.#decodedBytes > 4 * MOST_BYTES) return;
    if (!this.isEvents) {
      this.#keep(chunk);
      return;
    }
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#read(this.#takePending());
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes <= MOST_BYTES) this.#pending.push(part);
    else this.#pending = [];
  }

  #takePending(): Buffer {
    const bytes = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return bytes;
  }

  #read(bytes: Buffer): void {
    if (!this.isEvents) {
      this.#merge(parseJson(bytes.toString()));
      return;
    }
    // Nearly every line is a piece of the answer: to look for the word costs a fraction of parsing it.
    if (!bytes.includes(USAGE) && !bytes.includes(TRANSFORMATIONS)) return;
    const json = /^data: ?(.*)$/s.exec(bytes.toString())?.[1];
    if (json !== undefined) this.#merge(parseJson(json));
  }

  /** Later events say more: fields that they have replace, fields that they lack stay. */
  #merge(message: unknown): void {
    // Gemini without `alt=sse` answers a stream as one list.
    if (Array.isArray(message)) for (const event of message) this.#merge(event);
    const event = asFields(message);
    if (!event) return;
    const inner = asFields(event.message) ?? asFields(event.response) ?? event;
    const usage = asFields(inner.usage) ?? asFields(inner.usageMetadata) ?? asFields(event.usage);
    if (usage) this.#usage = this.#usage ? { ...this.#usage, ...withoutNull(usage) } : usage;
    const dropped = inner.input_transformations ?? event.input_transformations;
    if (Array.isArray(dropped)) this.#droppedThinking = dropped.length;
  }
}

type Fields = Record<string, unknown>;

const LF = 10;
const USAGE = Buffer.from('usage');
const TRANSFORMATIONS = Buffer.from('input_transformations');

type Decoder = Unzip | BrotliDecompress;

const decoders: Readonly<Record<string, () => Decoder>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function ended(decoder: Decoder): Promise<void> {
  return new Promise((resolve) => {
    if (decoder.destroyed) resolve();
    decoder.once('close', resolve);
    decoder.once('end', resolve);
    decoder.end();
  });
}

const asFields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

const withoutNull = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

function toUsage(usage: Fields | undefined, droppedThinking: number): Usage | undefined {
  const read = readUsage(usage);
  if (!read) return undefined;
  const { promptTokens, cachedTokens, completionTokens } = read;
  const cached = Math.min(promptTokens, cachedTokens);
  const found = { cached, written: promptTokens - cached, completionTokens };
  return droppedThinking > 0 ? { ...found, droppedThinking } : found;
}
