import type { FormatName } from '../../../src/index.ts';
import type { Json } from './requests.ts';

/** A body in pieces: what stands between the contents of results, and these contents, as they were written. */
export interface OddBody {
  readonly gaps: readonly Buffer[];
  readonly contents: readonly Buffer[];
}

export const bytesOf = ({ gaps, contents }: OddBody): Buffer =>
  Buffer.concat(gaps.flatMap((gap, i) => [gap, contents[i] ?? Buffer.alloc(0)]));

type Path = readonly (string | number)[];

const isResult: Partial<Record<FormatName, (path: Path, owner: Json) => boolean>> = {
  anthropic: (path, owner) => path.at(-1) === 'content' && owner.type === 'tool_result',
  'openai-chat': (path, owner) => path.at(-1) === 'content' && owner.role === 'tool',
  'openai-responses': (path, owner) => path.at(-1) === 'output' && owner.type === 'function_call_output',
  ollama: (path, owner) => path.at(-1) === 'content' && owner.role === 'tool',
  gemini: (path) => path.at(-1) === 'response' && path.at(-2) === 'functionResponse',
};

/** Writes a request as no library would: spaces anywhere, letters as escapes, fields that nobody knows. */
export function writeOddly(value: unknown, format: FormatName, seed: number): OddBody {
  const writer = new OddWriter(format, seed);
  writer.write(value, [], {});
  return writer.finish();
}

const UNKNOWN = ['1.0', '12345678901234567890', '-0', '1E2', '[[ ]]', '{"a":1,"a":2}', '"\\u0041\\/"', 'null'];

class OddWriter {
  readonly #gaps: Buffer[] = [];
  readonly #contents: Buffer[] = [];
  readonly #format: FormatName;
  #text: Buffer[] = [];
  #state: number;

  constructor(format: FormatName, seed: number) {
    this.#format = format;
    this.#state = seed;
  }

  finish(): OddBody {
    return { gaps: [...this.#gaps, Buffer.concat(this.#text)], contents: this.#contents };
  }

  write(value: unknown, path: Path, owner: Json): void {
    if (isResult[this.#format]?.(path, owner)) this.#writeContent(value, path);
    else this.#writeValue(value, path);
  }

  #writeContent(value: unknown, path: Path): void {
    this.#gaps.push(Buffer.concat(this.#text));
    this.#text = [];
    this.#writeValue(value, [...path, 'inside']);
    this.#contents.push(Buffer.concat(this.#text));
    this.#text = [];
  }

  #writeValue(value: unknown, path: Path): void {
    if (typeof value === 'string') this.#put(this.#string(value));
    else if (Array.isArray(value)) this.#writeList(value, path);
    else if (typeof value === 'object' && value !== null) this.#writeObject(value as Json, path);
    else this.#put(JSON.stringify(value));
  }

  #writeList(list: readonly unknown[], path: Path): void {
    this.#put('[');
    for (const [i, value] of list.entries()) {
      this.#put(i === 0 ? '' : ',', this.#space());
      this.write(value, [...path, i], {});
    }
    this.#put(this.#space(), ']');
  }

  #writeObject(object: Json, path: Path): void {
    const members = Object.entries(object);
    this.#put('{');
    for (const [i, [key, value]] of members.entries()) {
      this.#put(i === 0 ? '' : ',', this.#space(), this.#string(key), this.#space(), ':', this.#space());
      this.write(value, [...path, key], object);
    }
    // Not where a field nobody knows would be a part of what is said.
    if (!path.includes('inside') && this.#chance(6)) this.#unknown(members.length === 0);
    this.#put(this.#space(), '}');
  }

  #unknown(isFirst: boolean): void {
    this.#put(isFirst ? '' : ',', `"x_${this.#next() % 1000}" :`, UNKNOWN[this.#next() % UNKNOWN.length] as string);
    if (this.#chance(3)) this.#text.push(Buffer.from(',"y":"'), Buffer.of(0xff, 0xc3), Buffer.from('"'));
  }

  #string(text: string): string {
    const plain = JSON.stringify(text);
    if (!this.#chance(3)) return plain;
    const at = 1 + (this.#next() % Math.max(1, plain.length - 2));
    const letter = plain[at] as string;
    const isSafe = /[a-z]/.test(letter) && !/\\u?[0-9a-f]{0,4}$/.test(plain.slice(0, at));
    return isSafe ? `${plain.slice(0, at)}\\u00${letter.charCodeAt(0).toString(16)}${plain.slice(at + 1)}` : plain;
  }

  #put(...texts: string[]): void {
    for (const text of texts) if (text !== '') this.#text.push(Buffer.from(text));
  }

  #space(): string {
    return this.#chance(4) ? (['\n', '  ', '\t', '\r\n '][this.#next() % 4] as string) : '';
  }

  #chance(of: number): boolean {
    return this.#next() % of === 0;
  }

  /** mulberry32: the same seed writes the same bytes. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  }
}
