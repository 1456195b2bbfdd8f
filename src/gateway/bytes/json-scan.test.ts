import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  DUPLICATE,
  JsonScan,
  MISSING,
  NOT_JSON,
  parseJson,
  type ScanBudget,
  TOO_DEEP,
  TOO_MANY,
  TOO_SLOW,
} from './json-scan.ts';

const scanned = (text: string, scan = new JsonScan()): JsonScan => {
  const bytes = Buffer.from(text);
  expect(scan.scan(bytes, 0)).toBe(bytes.length);
  return scan;
};

const named = (scan: JsonScan, object: number): [string, string][] =>
  scan.members(object).map(({ name, value }) => [name, scan.text(value)]);

describe('JsonScan', () => {
  it('knows the members of an object and what they are written as', () => {
    const scan = scanned('{ "a" : 1.0, "é": [ true ] , "a":{"b":null}}');
    expect(named(scan, 0)).toEqual([
      ['a', '1.0'],
      ['é', '[ true ]'],
      ['a', '{"b":null}'],
    ]);
  });

  it('reads names that are written with escapes', () => {
    expect(named(scanned('{"\\u0061\\"\\\\":0}'), 0)).toEqual([['a"\\', '0']]);
  });

  it.each([
    ['{"a":1,"content":[2],"b":{"content":3}}', '[2]'],
    ['{"cont\\u0065nt":4}', '4'],
    [`{"${'x'.repeat(100)}":0,"content":5}`, '5'],
    [`{${Array.from({ length: 200 }, (_, i) => `"${i}":${i}`).join()},"content":6}`, '6'],
    ['{"contenu":1}', MISSING],
    ['{}', MISSING],
    ['[1]', MISSING],
    ['"content"', MISSING],
    ['{"content":1,"content":2}', DUPLICATE],
    ['{"content":1,"a":2,"a":3}', DUPLICATE],
    ['{"content":1,"a":2,"\\u0061":3}', DUPLICATE],
    [`{"content":1,${Array.from({ length: 200 }, (_, i) => `"${i % 199}":${i}`).join()}}`, DUPLICATE],
  ])('finds a member of %s', (text, expected) => {
    const scan = scanned(text);
    const found = scan.member(0, 'content');
    expect(found < 0 ? found : scan.text(found)).toBe(expected);
  });

  it('finds an element of a list, the first ones and later ones', () => {
    const scan = scanned('[[1],{"a":2},3,4,5,6,7,8,9,10,11]');
    for (const index of [0, 1, 2, 8, 9, 10]) expect(scan.element(0, index)).toBe(scan.elements(0)[index]);
    expect([scan.element(0, 11), scan.element(scan.element(0, 2), 0)]).toEqual([MISSING, MISSING]);
  });

  it('reads any number of values if no budget was set, also after many scans', () => {
    const scan = new JsonScan();
    for (let i = 0; i < 3; i++) scanned(`[${'0,'.repeat(20_000)}0]`, scan);
    expect(scan.left).toBeGreaterThan(2 ** 30);
  });

  it('knows what a list holds, whatever is inside', () => {
    const scan = scanned('[[1,[2]],"]",{"a":[]},[]]');
    expect(scan.elements(0).map((value) => scan.text(value))).toEqual(['[1,[2]]', '"]"', '{"a":[]}', '[]']);
  });

  it('forgets what it scanned before', () => {
    const scan = scanned('{"a":[1,2]}');
    expect([named(scan, 0), scan.elements(2).length]).toEqual([[['a', '[1,2]']], 2]);
    scanned('{"b":[3]}', scan);
    expect([named(scan, 0), scan.elements(2).length]).toEqual([[['b', '[3]']], 1]);
  });

  it.each([
    ['one by one', 'say "hi" \\ '.repeat(3)],
    ['over more than one copy', 'const a = "b\\\\";\n'.repeat(10_000)],
    ['where a copy ends in a backslash', '"\\'.repeat(50_000)],
    ['in any script', 'naïve "漢字" 😀\n'.repeat(6000)],
    ['without any quote', 'x'.repeat(200_000)],
  ])('finds the end of a text, %s', (_, text) => {
    const written = JSON.stringify([text, 'behind', { text }]);
    const scan = scanned(written);
    expect(scan.elements(0).map((value) => scan.parse(value))).toEqual(JSON.parse(written));
    const open = Buffer.from(written.slice(0, -text.length / 2));
    expect(new JsonScan().scan(open, 0)).toBe(NOT_JSON);
  });

  it.each(['', '{"a"}', '[1,]', '{"a":1,}', '[01]', '"a', '[1}', 'tru'])('takes %j for no JSON', (text) => {
    expect(new JsonScan().scan(Buffer.from(text), 0)).toBe(NOT_JSON);
  });

  it('finds a text in the values of a body that hold it, near and far', () => {
    const sizes = [10, 30_000, 5, 40_000, 70_000, 1, 1, 200_000, 65_000, 520, 10];
    // At its beginning, at its end, or nowhere.
    const values = sizes.map((size, i) =>
      JSON.stringify([i % 3 === 0 ? 'cache_' : 'cache', 'x'.repeat(size), i % 4 === 3 ? 'cache_' : 'cache']),
    );
    const bytes = Buffer.from(values.join(' '));
    const scan = new JsonScan();
    const found: boolean[] = [];
    for (let at = 0; at < bytes.length; ) {
      at = scan.scan(bytes, at);
      found.push(scan.includes('cache_'));
      expect(scan.includes('cache_')).toBe(found.at(-1));
    }
    expect(found).toEqual(values.map((value) => value.includes('cache_')));
  });

  it('gives up where it is too deep', () => {
    expect(new JsonScan().scan(Buffer.from('['.repeat(257)), 0)).toBe(TOO_DEEP);
  });
});

describe('a budget', () => {
  const begun = (budget: Partial<ScanBudget>): JsonScan => {
    const scan = new JsonScan();
    scan.begin({ jsonValues: 1000, scanMs: 1e9, ...budget });
    return scan;
  };

  it('holds for all scans of a request together, and keys cost nothing', () => {
    const scan = begun({ jsonValues: 5 });
    const bytes = Buffer.from('{"a":1,"b":[]}');
    expect(scan.scan(bytes, 0)).toBe(bytes.length);
    expect(scan.left).toBe(2);
    expect(scan.scan(bytes, 0)).toBe(TOO_MANY);
  });

  it('is enough where a request has exactly as many values', () => {
    expect(begun({ jsonValues: 3 }).scan(Buffer.from('[1,2]'), 0)).toBe(5);
    expect(begun({ jsonValues: 2 }).scan(Buffer.from('[1,2]'), 0)).toBe(TOO_MANY);
  });

  it('is not to blame for a text that is no JSON, even where it ends there', () => {
    expect(begun({ jsonValues: 1 }).scan(Buffer.from('{a'), 0)).toBe(NOT_JSON);
    expect(begun({ jsonValues: 2 }).scan(Buffer.from('{"a":1,b'), 0)).toBe(NOT_JSON);
  });

  it('of time ends a scan before it begins', () => {
    expect(begun({ scanMs: -1 }).scan(Buffer.from('1'), 0)).toBe(TOO_SLOW);
  });

  describe('of time', () => {
    afterEach(() => void vi.restoreAllMocks());

    it('ends a long scan, and the clock is read once in thousands of values', () => {
      const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
      const scan = begun({ jsonValues: 1e6, scanMs: 5 });
      const bytes = Buffer.from(JSON.stringify(Array(40_000).fill(1)));
      expect([scan.scan(bytes, 0), clock.mock.calls.length < 12]).toEqual([bytes.length, true]);
      clock.mockReturnValue(5);
      expect(scan.scan(bytes, 0)).toBe(bytes.length);
      clock.mockReturnValueOnce(5).mockReturnValue(6);
      expect(scan.scan(bytes, 0)).toBe(TOO_SLOW);
    });
  });

  it('begins again with the next request', () => {
    const scan = begun({ jsonValues: 0, scanMs: -1 });
    scan.begin({ jsonValues: 1, scanMs: 1e9 });
    expect([scan.scan(Buffer.from('1'), 0), scan.left]).toEqual([1, 0]);
  });
});

describe('JsonScan.hasString', () => {
  it('finds a key or a string at any place of the last value, and no part of one', () => {
    const scan = new JsonScan();
    const bytes = Buffer.from(
      '[{"cache":1},{"a":[{"b":{"cache":{}}}],"c":"cached"},["cache"],{"a":"the \\"cache\\""}]',
    );
    const found: boolean[] = [];
    for (let at = 1; at < bytes.length; at += 1) {
      at = scan.scan(bytes, at);
      found.push(scan.hasString(Buffer.from('"cache"')));
    }
    expect(found).toEqual([true, true, true, false]);
  });
});

describe('JsonScan.includes', () => {
  const searched = (text: string, at = 0, scan = new JsonScan()): JsonScan => {
    scan.scan(Buffer.from(text), at);
    return scan;
  };

  it('does not find a text that begins behind the value or before it', () => {
    expect(searched('["ab"]').includes('"]')).toBe(true);
    const scan = searched('["ab"]c');
    expect([scan.includes('c'), scan.includes('c')]).toEqual([false, false]);
    expect(searched('x["ab"]', 1).includes('x[')).toBe(false);
  });

  it('answers the same when it is asked again', () => {
    const scan = searched('["ab"]');
    expect(['[', '[', 'b', 'b', 'x', 'x'].map((text) => scan.includes(text))).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('finds a text in each of two values, and one across the end of the part that was searched', () => {
    const asked = (body: string, text = 'cache_'): boolean[] => {
      const bytes = Buffer.from(body);
      const scan = new JsonScan();
      const found: boolean[] = [];
      for (let at = 0; at < bytes.length; found.push(scan.includes(text))) at = scan.scan(bytes, at);
      return found;
    };
    expect(asked('"cache_" "cache_"')).toEqual([true, true]);
    expect(asked('"cache_" "cache_"', '"cache_"')).toEqual([true, true]);
    for (let at = 65_525; at < 65_540; at++) expect(asked(`${'"a"'.padEnd(at)}"cache_"`)).toEqual([false, true]);
  });

  it('searches again in the body of the next request', () => {
    const scan = new JsonScan();
    scan.begin({ jsonValues: 100, scanMs: 1e9 });
    expect(searched('["ab"]', 0, scan).includes('b')).toBe(true);
    scan.begin({ jsonValues: 100, scanMs: 1e9 });
    expect(searched('["xx"]', 0, scan).includes('b')).toBe(false);
  });
});

describe('JsonScan.isUtf8', () => {
  const bytes = Buffer.concat([Buffer.from('["é",'), Buffer.from([0x22, 0xff, 0x22]), Buffer.from(',"漢"]')]);

  it('is true for the values that are valid UTF-8, whatever is before or behind them', () => {
    const scan = new JsonScan();
    scan.scan(bytes, 0);
    expect(scan.elements(0).map((value) => scan.isUtf8(value))).toEqual([true, false, true]);
    expect(scan.isUtf8(0)).toBe(false);
  });

  it('is true for every value of a valid body', () => {
    const scan = scanned('["é",["漢"]]');
    expect([1, 2, 3, 0].map((value) => scan.isUtf8(value))).toEqual([true, true, true, true]);
  });

  it('checks the body of the next request again', () => {
    const scan = new JsonScan();
    scan.scan(Buffer.from('["é"]'), 0);
    expect(scan.isUtf8(0)).toBe(true);
    scan.begin({ jsonValues: 100, scanMs: 1e9 });
    scan.scan(bytes, 0);
    expect([scan.isUtf8(0), scan.isUtf8(3)]).toEqual([false, true]);
  });
});

describe('places', () => {
  it('are those of the body, where a value begins inside it', () => {
    const scan = new JsonScan();
    expect(scan.scan(Buffer.from('[0, {"a": [1] } ]'), 3)).toBe(15);
    expect([scan.start(0), scan.end(0), scan.isObject(0), scan.isList(0)]).toEqual([4, 15, true, false]);
    expect([scan.start(2), scan.end(2), scan.isObject(2), scan.isList(2)]).toEqual([10, 13, false, true]);
  });

  it('are kept for 10 levels; deeper values are only checked', () => {
    const kept = (depth: number): number => {
      const scan = scanned(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
      expect([scan.start(0), scan.end(0)]).toEqual([0, 2 * depth + 1]);
      expect([scan.start(1), scan.end(1)]).toEqual([1, 2 * depth]);
      return scan.count;
    };
    expect([8, 9, 10, 11, 30].map(kept)).toEqual([9, 10, 10, 10, 10]);
    const objects = (depth: number): number => scanned(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`).count;
    expect([8, 9, 10, 11].map(objects)).toEqual([17, 19, 19, 19]);
  });

  it('stay as they are for a name whose value is deeper than that', () => {
    const deep = `${'['.repeat(30)}1${']'.repeat(30)}`;
    expect(named(scanned(`{"a":${deep},"b":2}`), 0)).toEqual([
      ['a', deep],
      ['b', '2'],
    ]);
  });

  it('are kept for thousands of values', () => {
    const numbers = Array.from({ length: 5000 }, (_, i) => i);
    const scan = scanned(JSON.stringify(numbers));
    expect(scan.elements(0).map((value) => scan.parse(value))).toEqual(numbers);
  });

  it('cannot be taken for a code', () => {
    for (const code of [NOT_JSON, TOO_DEEP, TOO_MANY, TOO_SLOW]) expect(code).toBeLessThan(0);
  });

  it('count the depth of what is around the value', () => {
    const bytes = Buffer.from('[[1]]');
    expect(new JsonScan().scan(bytes, 0, 254)).toBe(5);
    expect(new JsonScan().scan(bytes, 0, 255)).toBe(TOO_DEEP);
  });
});

describe('a scalar', () => {
  it.each(['true', 'false', 'null', '-0', '0', '-12.50', '1e5', '1E+05', '1.5e-7', '"\\u0022"'])(
    '%s is whole',
    (text) => {
      expect(new JsonScan().scan(Buffer.from(`${text},`), 0)).toBe(text.length);
      expect(new JsonScan().scan(Buffer.from(`\t\r\n ${text}x`), 0)).toBe(text.length + 4);
    },
  );

  it.each(['trux', 'falsy', 'nulk', '-', '-x', '1.x', '1ex', '1e+', 'x', '/', ':', '\u0001'])('%j is none', (text) => {
    expect(new JsonScan().scan(Buffer.from(`${text}   `), 0)).toBe(NOT_JSON);
  });
});

describe('parseJson', () => {
  it('answers nothing for a text that is no JSON', () => {
    expect([parseJson('[1]'), parseJson('[1')]).toEqual([[1], undefined]);
  });
});
