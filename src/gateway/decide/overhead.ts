import { asString, isRecord } from '../../formats/lens.ts';
import { memoryLimits } from '../../limits.ts';
import { isRecallTool } from '../../plan/handles.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { parseJson } from '../bytes/json-scan.ts';

/** The overhead of a request: its system prompt or its tools. */
export interface Overhead {
  readonly tokens: number;
  /** The lifetimes of the cache markers in it; undefined for the usual one. */
  readonly markers: readonly (string | undefined)[];
  /** Whether our tool `recall` is among the tools. */
  readonly hasRecall: boolean;
}

export const NO_OVERHEAD: Overhead = { tokens: 0, markers: [], hasRecall: false };

/** Undefined for invalid JSON. */
function readOverhead(text: string): Overhead | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  if (value === null) return NO_OVERHEAD;
  const tokens = countTokens(typeof value === 'string' ? value : JSON.stringify(value));
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return { tokens, markers: list.flatMap(markersOf), hasRecall: list.some(isRecallTool) || namesRecall(text) };
}

function markersOf(value: unknown): (string | undefined)[] {
  const marker = isRecord(value) ? value.cache_control : undefined;
  return isRecord(marker) ? [asString(marker.ttl)] : [];
}

/** A tool by any client's name, also in a list of deferred tools. */
const NAMED = /palimpsest[\W_]{1,4}recall\b/i;

/** Whether a text names our tool `recall`. */
export const namesRecall = (text: string): boolean => NAMED.test(text);

/** A field that was read before, and its end. */
interface KnownOverhead {
  readonly overhead: Overhead;
  readonly end: number;
}

interface Entry {
  readonly bytes: Buffer;
  readonly overhead: Overhead;
}

/** Caches system prompts and tools, which are the same on nearly every request. */
export class OverheadCache {
  /** The most recently used first. */
  #entries: Entry[] = [];
  #bytes = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The known value that begins here. Lists, objects and texts have a clear end, whatever follows. */
  find(body: Buffer, start: number): KnownOverhead | undefined {
    for (const entry of this.#entries) {
      const { bytes, overhead } = entry;
      const end = start + bytes.length;
      if (end > body.length || body.compare(bytes, 0, bytes.length, start, end) !== 0) continue;
      if (entry !== this.#entries[0]) this.#entries = [entry, ...this.#entries.filter((other) => other !== entry)];
      return { overhead, end };
    }
    return undefined;
  }

  /** Undefined for invalid JSON. */
  read(bytes: Buffer): Overhead | undefined {
    const overhead = readOverhead(bytes.toString());
    if (overhead && DELIMITED.has(bytes[0] as number) && bytes.length <= this.#maxBytes / 8)
      this.#keep(bytes, overhead);
    return overhead;
  }

  #keep(bytes: Buffer, overhead: Overhead): void {
    this.#bytes += bytes.length;
    this.#entries.unshift({ bytes: Buffer.from(bytes), overhead });
    while (this.#bytes > this.#maxBytes || this.#entries.length > memoryLimits.prompts)
      this.#bytes -= this.#entries.pop()?.bytes.length ?? 0;
  }
}

/** `[`, `{` and `"`. */
const DELIMITED = new Set([0x5b, 0x7b, 0x22]);
