import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan, NOT_JSON, TOO_DEEP } from '../../../src/gateway/bytes/json-scan.ts';
import { type ByteEdit, splice } from '../../../src/gateway/bytes/splice.ts';
import { oddJson } from '../../support/gateway/odd-json.ts';

const scanned = (text: string): number => new JsonScan().scan(Buffer.from(text), 0);

/** The edits that lead back: what went stands again, where it now has to. */
function undo(bytes: Uint8Array, edits: readonly ByteEdit[]): ByteEdit[] {
  let shift = 0;
  return [...edits]
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map(({ start, end, bytes: added }) => {
      const at = start + shift;
      shift += added.length - (end - start);
      return { start: at, end: at + added.length, bytes: bytes.subarray(start, end) };
    });
}

/** Values of which none stands inside another. */
function chosen(scan: JsonScan, wanted: readonly number[]): number[] {
  const values = [...new Set(wanted.map((n) => n % scan.count))].sort((a, b) => scan.start(a) - scan.start(b));
  let end = -1;
  return values.filter((value) => {
    const isFree = scan.start(value) >= end;
    if (isFree) end = scan.end(value);
    return isFree;
  });
}

describe('splicing', () => {
  it('gives the original bytes back when it is undone, whatever the JSON', () => {
    fc.assert(
      fc.property(
        oddJson,
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.uint8Array({ maxLength: 40 }),
        (body, wanted, bytes) => {
          const scan = new JsonScan();
          expect(scan.scan(body, 0)).toBe(body.length);
          const edits = chosen(scan, wanted).map((value) => ({
            start: scan.start(value),
            end: scan.end(value),
            bytes,
          }));
          const edited = splice(body, edits);
          expect(Buffer.compare(splice(edited, undo(body, edits)), body)).toBe(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('leaves the bytes that no edit names as they are', () => {
    const body = Buffer.from('{"a": 1.0 ,"b":"x"}');
    const edited = splice(body, [
      { start: 15, end: 18, bytes: Buffer.from('"masked"') },
      { start: 6, end: 6, bytes: Buffer.from('-') },
    ]);
    expect(Buffer.from(edited).toString()).toBe('{"a": -1.0 ,"b":"masked"}');
  });

  it('refuses edits that overlap', () => {
    const bytes = Buffer.from('x');
    const edits = [
      { start: 0, end: 3, bytes },
      { start: 2, end: 4, bytes },
    ];
    expect(() => splice(Buffer.from('abcdef'), edits)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });
});

describe('scanning', () => {
  it('finds every value where JSON.parse finds it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const bytes = Buffer.from(text);
        const scan = new JsonScan();
        expect(scan.scan(bytes, 0)).toBe(bytes.length);
        expect(readValue(scan, 0)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('takes what JSON.parse takes, and no more but for what stands inside strings', () => {
    const edit = fc.tuple(fc.nat(), fc.constantFrom(...'{}[]",:0-1.eEtn \\'));
    fc.assert(
      fc.property(fc.json(), fc.array(edit, { minLength: 1, maxLength: 3 }), (text, changes) => {
        const bytes = Buffer.from(text);
        for (const [at, letter] of changes) bytes[at % bytes.length] = letter.charCodeAt(0);
        const end = new JsonScan().scan(bytes, 0);
        const isWhole = end >= 0 && bytes.subarray(end).toString().trim() === '';
        if (parses(bytes.toString())) expect(isWhole).toBe(true);
        else if (isWhole) expect(parses(bytes.toString().replace(/"(?:[^"\\]|\\.)*"/gs, '""'))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    '{"a"}',
    '{a:1}',
    '[1,]',
    '{"a":1,}',
    '[01]',
    '-',
    '1.',
    '1e',
    '+1',
    'tru',
    '"a',
    '',
    '[1 2]',
    '{"a":1 "b":2}',
    '.5',
  ])('refuses %s', (text) => {
    expect(scanned(text)).toBe(NOT_JSON);
  });

  it('takes nesting of 256 and no more, and does not recurse', () => {
    expect(scanned('['.repeat(256) + ']'.repeat(256))).toBe(512);
    expect(scanned('['.repeat(257) + ']'.repeat(257))).toBe(TOO_DEEP);
    expect(scanned('['.repeat(5_000_000))).toBe(TOO_DEEP);
  });

  it('finds the end of a string behind any number of backslashes', () => {
    for (let padding = 0; padding < 120; padding++)
      for (const slashes of [1, 2, 3, 4]) {
        const text = JSON.stringify(`${'x'.repeat(padding)}${'\\'.repeat(slashes)}"${'y'.repeat(70)}`);
        expect(scanned(text)).toBe(text.length);
      }
  });

  it('reads 50 MB', () => {
    const body = Buffer.alloc(50 * 1024 * 1024, 'x');
    body.write('{"a":["', 0);
    body.write('"]}', body.length - 3);
    const scan = new JsonScan();
    expect(scan.scan(body, 0)).toBe(body.length);
    expect(scan.end(3) - scan.start(3)).toBe(body.length - 8);
  });
});

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

function readValue(scan: JsonScan, value: number): unknown {
  // What stands deep inside is only checked.
  const text = Buffer.from(scan.bytes).subarray(scan.start(value), scan.end(value)).toString();
  if (scan.isList(value)) {
    const list = [...scan.elements(value)].map((element) => readValue(scan, element));
    return list.length === (JSON.parse(text) as unknown[]).length ? list : JSON.parse(text);
  }
  if (!scan.isObject(value)) return JSON.parse(text);
  const members = [...scan.members(value)];
  if (members.length === 0) return JSON.parse(text);
  const object: Record<string, unknown> = {};
  for (const { name, value: inner } of members)
    Object.defineProperty(object, name, {
      value: readValue(scan, inner),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return object;
}
