import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Unzip,
} from 'node:zlib';
import { isRecord } from '../../formats/lens.ts';
import { answerLimits, requestLimits } from '../../limits.ts';
import { hourWritesIn, readUsage, tellsCacheWrites } from '../../manager/usage.ts';
import type { PromptTokens } from '../../plan/prices.ts';
import { JsonScan, parseJson } from '../bytes/json-scan.ts';
import type { Mutable } from '../mutable.ts';
import type { Wire } from '../wire/wire.ts';
import { headerOf, type RawHeaders } from './headers.ts';
import { isRawDeflate } from './read-body.ts';
import { zstd } from './zstd.ts';

/** The tokens of a request as the provider counted them. */
export interface Usage extends PromptTokens {
  readonly completionTokens: number;
  /** The model that answered, if the answer names it. */
  readonly model?: string;
  /** Set if the provider read from its cache or wrote to it. */
  readonly usesCache?: true;
  /** Thinking blocks that it left out because the history before them had changed. */
  readonly droppedThinking?: number;
}

export interface UsageReaderOptions {
  readonly wire: Wire;
  readonly mostBytes?: number;
}

/** Finds the usage in a copy of an answer, a stream of events or one document. It delays nothing. */
export class UsageReader {
  #isEvents: boolean;
  #isJsonLines: boolean;
  #signs: readonly Buffer[] = [];
  readonly #wire: Wire;
  readonly #mostBytes: number;
  readonly #createDecoder: ((first: Buffer) => Decoder) | undefined;
  /** Created with the first bytes. */
  #decoder: Decoder | undefined;
  #isReading: boolean;
  /** The bytes of the line or document that is not complete yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #encodedBytes = 0;
  #decodedBytes = 0;
  #leftMs: number = answerLimits.readMs;
  #usage: Fields | undefined;
  #model: string | undefined;
  #droppedThinking = 0;
  #isComplete: boolean | undefined;
  #hasCall = false;

  constructor(headers: RawHeaders, { wire, mostBytes = answerLimits.bytes }: UsageReaderOptions) {
    this.#wire = wire;
    this.#mostBytes = mostBytes;
    const type = headerOf(headers, 'content-type')?.toLowerCase() ?? '';
    this.#isJsonLines = type.includes('ndjson');
    this.#isEvents = this.#isJsonLines || type.includes('event-stream');
    if (this.#isEvents) this.#signs = signsOf(wire);
    const encoding = headerOf(headers, 'content-encoding')?.trim().toLowerCase() || 'identity';
    this.#createDecoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
    this.#isReading = encoding === 'identity' || this.#createDecoder !== undefined;
  }

  push(chunk: Buffer): void {
    if (!this.#isReading) return;
    this.#encodedBytes += chunk.length;
    if (!this.#createDecoder) {
      this.#take(chunk);
      return;
    }
    const decoder = this.#decoder ?? this.#openDecoder(this.#createDecoder(chunk));
    // A decoder that is slower than the upstream would buffer everything.
    if (decoder.writableLength > answerLimits.eventBytes) this.#stop();
    else decoder.write(chunk);
  }

  #openDecoder(decoder: Decoder): Decoder {
    decoder.on('data', (chunk: Buffer) => this.#take(chunk));
    decoder.on('error', () => this.#stop());
    this.#decoder = decoder;
    return decoder;
  }

  /** Undefined if there is no readable usage. */
  async end(): Promise<Usage | undefined> {
    if (this.#decoder && this.#isReading) await ended(this.#decoder);
    if (this.#isReading && this.#pendingBytes > 0) this.#read(this.#takePending());
    return toUsage(this.#usage, { model: this.#model, droppedThinking: this.#droppedThinking });
  }

  /** Whether the answer is a stream of events, or of lines of JSON. Known after `end`: its type may be wrong. */
  get isEvents(): boolean {
    return this.#isEvents;
  }

  /** Whether the answer is final, without a call; undefined if that is unknown. Known after `end`. */
  get isFinal(): boolean | undefined {
    return this.#isComplete && !this.#hasCall;
  }

  #take(chunk: Buffer): void {
    if (!this.#isReading) return;
    this.#decodedBytes += chunk.length;
    if (this.#decodedBytes > this.#mostBytes || this.#isBomb()) {
      this.#stop();
      return;
    }
    if (!this.#isEvents) {
      this.#keep(chunk);
      return;
    }
    const startMs = performance.now();
    this.#takeLines(chunk);
    this.#leftMs -= performance.now() - startMs;
    if (this.#leftMs < 0) this.#stop();
  }

  #isBomb(): boolean {
    return this.#decodedBytes > answerLimits.bombBytes && this.#decodedBytes > answerLimits.ratio * this.#encodedBytes;
  }

  /** Stops reading. The client still gets all bytes. */
  #stop(): void {
    this.#isReading = false;
    this.#pending = [];
    this.#decoder?.destroy();
  }

  /** Handles all complete lines at once. Only lines with one of the signs are examined one by one. */
  #takeLines(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LF);
    if (end < 0) {
      this.#keep(chunk);
      return;
    }
    this.#keep(chunk.subarray(0, end));
    this.#readLines(this.#takePending());
    if (end + 1 < chunk.length) this.#keep(chunk.subarray(end + 1));
  }

  #readLines(lines: Buffer): void {
    const found = this.#signs.map((sign) => indexOf(lines, sign, 0));
    for (;;) {
      const at = Math.min(...found);
      if (at === lines.length) return;
      const end = indexOf(lines, LF, at);
      this.#readEvent(lines.subarray(lines.lastIndexOf(LF, at) + 1, end));
      for (const [i, sign] of this.#signs.entries())
        if ((found[i] as number) < end) found[i] = indexOf(lines, sign, end);
    }
  }

  #readEvent(line: Buffer): void {
    const isData = line.subarray(0, DATA.length).equals(DATA);
    if (!isData && !this.#isJsonLines) return;
    this.#merge(parsed(line, isData ? DATA.length : 0));
  }

  #keep(part: Buffer): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes <= answerLimits.eventBytes) this.#pending.push(part);
    else this.#pending = [];
  }

  #takePending(): Buffer {
    const bytes = this.#pending.length === 1 ? (this.#pending[0] as Buffer) : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return bytes;
  }

  #read(bytes: Buffer): void {
    const at = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    const document = this.#isEvents ? undefined : parsed(bytes, at);
    if (document !== undefined) this.#merge(document);
    else this.#readAsLines(bytes.subarray(at));
  }

  /** The rest of a stream, or a whole stream whose type says something else. */
  #readAsLines(bytes: Buffer): void {
    if (!this.#isEvents) {
      this.#signs = signsOf(this.#wire);
      this.#isJsonLines = true;
    }
    this.#readLines(bytes);
    this.#isEvents ||= this.#usage !== undefined;
  }

  /** Fields of later events replace earlier ones; missing fields stay. */
  #merge(message: unknown): void {
    // A stream without `alt=sse` may come as one list.
    for (const event of Array.isArray(message) ? message : [message]) this.#mergeEvent(asFields(event));
  }

  #mergeEvent(event: Fields | undefined): void {
    if (!event) return;
    const told = this.#wire.usageIn(event);
    const usage = asFields(told.usage);
    if (usage) this.#usage = this.#usage ? { ...this.#usage, ...withoutNull(usage) } : usage;
    if (isModelName(told.model)) this.#model = told.model;
    const { isComplete, hasCall } = this.#wire.endIn(event);
    this.#isComplete = isComplete ?? this.#isComplete;
    this.#hasCall ||= hasCall === true;
    if (Array.isArray(told.droppedThinking)) this.#droppedThinking = told.droppedThinking.length;
  }
}

type Fields = Record<string, unknown>;

const signsOf = ({ usageSigns, endSigns }: Wire): Buffer[] =>
  [...usageSigns, ...endSigns].map((sign) => Buffer.from(sign));

/** Undefined if the bytes are not JSON, or too much of it. */
const parsed = (bytes: Buffer, at: number): unknown =>
  isModest(bytes, at) ? parseJson(bytes.toString('utf8', at)) : undefined;

const LF = 10;
const DATA = Buffer.from('data:');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** The position of a value in bytes; the end if it is not there. */
function indexOf(bytes: Buffer, wanted: Buffer | number, from: number): number {
  const at = bytes.indexOf(wanted, from);
  return at === -1 ? bytes.length : at;
}

const scan = new JsonScan();
const BUDGET = { jsonValues: answerLimits.jsonValues, scanMs: answerLimits.readMs };

/** Whether bytes are JSON that can be parsed without much time and memory. A short text always is. */
function isModest(bytes: Buffer, at: number): boolean {
  if (bytes.length < SHORT_BYTES) return true;
  scan.begin(BUDGET);
  return scan.scan(bytes, at) > 0;
}

const SHORT_BYTES = 64 * 1024;

type Decoder = Unzip | BrotliDecompress;

const decoders: Readonly<Record<string, (first: Buffer) => Decoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => (isRawDeflate(first) ? createInflateRaw() : createInflate()),
  br: () => createBrotliDecompress(),
  ...(zstd ? { zstd: zstd.createDecoder } : {}),
};

function ended(decoder: Decoder): Promise<void> {
  return new Promise((resolve) => {
    if (decoder.destroyed) resolve();
    decoder.once('close', resolve);
    decoder.once('end', resolve);
    decoder.end();
  });
}

const asFields = (value: unknown): Fields | undefined => (isRecord(value) && !Array.isArray(value) ? value : undefined);

const withoutNull = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

const isModelName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= requestLimits.modelChars;

interface Told {
  readonly model: string | undefined;
  readonly droppedThinking: number;
}

function toUsage(usage: Fields | undefined, { model, droppedThinking }: Told): Usage | undefined {
  const read = readUsage(usage);
  if (!read) return undefined;
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = read;
  if (![promptTokens, cachedTokens, cacheWriteTokens, completionTokens].every(isBelievable)) return undefined;
  const cached = Math.min(promptTokens, cachedTokens);
  const written = promptTokens - cached;
  const told: Mutable<Usage> = { cached, written, completionTokens };
  if (tellsCacheWrites(usage)) told.uncached = Math.max(0, written - cacheWriteTokens);
  const hourWrites = cacheWriteTokens > 0 ? hourWritesIn(usage) : undefined;
  if (hourWrites !== undefined) told.hourWritten = Math.min(hourWrites, cacheWriteTokens, written);
  if (model !== undefined) told.model = model;
  if (cached + cacheWriteTokens > 0) told.usesCache = true;
  if (droppedThinking > 0) told.droppedThinking = droppedThinking;
  return told;
}

/** Totals are sums over all requests: one absurd number would distort them until a restart. */
const isBelievable = (tokens: number): boolean => Number.isInteger(tokens) && tokens <= answerLimits.tokens;
