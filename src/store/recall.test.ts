import { beforeAll, describe, expect, it } from 'vitest';
import { createMemoryStore } from './memory-store.ts';
import { type RecallOptions, recall } from './recall.ts';

const store = createMemoryStore();
const put = (text: string): Promise<string> => store.put(text, { session: 's' });
const LOG = 'one\ntwo\r\nError: three\nfour\nfive\nsix\nerror: seven\neight\n';

describe('recall', () => {
  let log: string;
  beforeAll(async () => {
    log = await put(LOG);
  });
  const textOf = async (options: RecallOptions) => (await recall(store, log, options)).text;

  it('gives the whole text, with its size', async () => {
    expect(await recall(store, log)).toEqual({ text: LOG, lines: 8, bytes: LOG.length, truncated: false });
  });

  it('gives the first or the last lines, byte for byte, with the size of the whole', async () => {
    expect(await recall(store, log, { head: 2 })).toEqual({
      text: 'one\ntwo\r\n',
      lines: 8,
      bytes: LOG.length,
      truncated: true,
    });
    expect(await textOf({ tail: 2 })).toBe('error: seven\neight\n');
    expect(await recall(store, log, { tail: 100 })).toMatchObject({ text: LOG, truncated: false });
    expect(await textOf({ head: 0 })).toBe('');
    expect(await textOf({ tail: 0 })).toBe('');
  });

  it('gives lines counted from 1, the last one included, as far as there are any', async () => {
    expect(await textOf({ lines: [1, 1] })).toBe('one\n');
    expect(await textOf({ lines: [4, 5] })).toBe('four\nfive\n');
    expect(await textOf({ lines: [8, 99] })).toBe('eight\n');
    expect(await recall(store, log, { lines: [9, 99] })).toMatchObject({ text: '', truncated: true });
    expect(await recall(store, log, { lines: [1, 8] })).toMatchObject({ text: LOG, truncated: false });
    expect(await textOf({ lines: [2, 5], tail: 1 })).toBe('five\n');
    expect(await textOf({ lines: [2, 5], head: 1 })).toBe('two\r\n');
  });

  it('puts its parts together to the whole, whatever ends the lines', async () => {
    for (const text of ['', '\n', '\n\n', 'a', 'a\n', 'a\n\nb', '\r\n\r', '\ud800\n\0', 'x\u2028y\n']) {
      const handle = await put(text);
      const { lines } = await recall(store, handle);
      const parts = Array.from({ length: lines }, (_, i) => recall(store, handle, { lines: [i + 1, i + 1] }));
      expect((await Promise.all(parts)).map((part) => part.text).join('')).toBe(text);
    }
  });

  it('greps with line numbers', async () => {
    expect(await recall(store, log, { grep: 'rror' })).toEqual({
      text: '3:Error: three\n7:error: seven',
      lines: 8,
      bytes: LOG.length,
      truncated: true,
    });
    expect(await textOf({ grep: '^error', ignoreCase: true })).toBe('3:Error: three\n7:error: seven');
    expect(await textOf({ grep: 'two$' })).toBe('2:two');
    expect(await recall(store, log, { grep: 'nothing' })).toMatchObject({ text: '', truncated: true });
    expect(await recall(store, log, { grep: '' })).toMatchObject({ truncated: false });
  });

  it('greps with context, groups apart, no line twice', async () => {
    expect(await textOf({ grep: 'rror', context: 1 })).toBe(
      '2-two\n3:Error: three\n4-four\n--\n6-six\n7:error: seven\n8-eight',
    );
    expect(await textOf({ grep: 'rror', context: 2 })).toBe(
      '1-one\n2-two\n3:Error: three\n4-four\n5-five\n6-six\n7:error: seven\n8-eight',
    );
    expect(await textOf({ grep: 'one|two', context: 1 })).toBe('1:one\n2:two\n3-Error: three');
  });

  it('greps inside the lines asked for, and cuts what it found', async () => {
    expect(await textOf({ grep: 'rror', lines: [4, 8], context: 9 })).toBe(
      '4-four\n5-five\n6-six\n7:error: seven\n8-eight',
    );
    expect(await textOf({ grep: 'rror', head: 1 })).toBe('3:Error: three');
    expect(await textOf({ grep: 'rror', tail: 1 })).toBe('7:error: seven');
  });

  it('takes patterns as models write them', async () => {
    const handle = await put('a-b_c\n😀 x\n/usr/bin');
    expect((await recall(store, handle, { grep: 'a\\-b\\_c' })).text).toBe('1:a-b_c');
    expect((await recall(store, handle, { grep: '^[😀] x' })).text).toBe('2:😀 x');
    expect((await recall(store, handle, { grep: '^/usr/' })).text).toBe('3:/usr/bin');
  });

  it('throws NOT_FOUND for what it does not know', async () => {
    for (const handle of ['', 'p_aaaaaaaaaaaaaaaaaaaaaaaaaa', '../etc/passwd', 'x'.repeat(10_000)])
      await expect(recall(store, handle)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it.each<RecallOptions>([
    { head: -1 },
    { tail: 1.5 },
    { lines: [0, 3] },
    { lines: [3, 2] },
    { lines: [1] as unknown as [number, number] },
    { head: 1, tail: 1 },
    { context: 2 },
    { ignoreCase: true },
    { grep: '(' },
    { grep: 'a', context: -1 },
    { grep: '(?<a>x)(?<a>y)' },
    { heads: 1 } as RecallOptions,
  ])('refuses %j', async (options) => {
    await expect(recall(store, log, options)).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  it.each([[5], [null], [undefined], ['history'], [{}]])('refuses %j in place of a store', async (wrong) => {
    const refused = { code: 'BAD_OPTION', message: expect.stringContaining('the store of recall') };
    await expect(recall(wrong as never, log)).rejects.toMatchObject(refused);
  });
});

describe('a pattern that would never end', () => {
  const HANGS = '^(a+)+$|^ok$';

  it('is ended after a second, with what was found so far, while the process goes on', async () => {
    const handle = await put(`ok\nno\nok\n${'a'.repeat(80)}!\nok\n`);
    let ticks = 0;
    const clock = setInterval(() => ticks++, 20);
    const found = await recall(store, handle, { grep: HANGS });
    clearInterval(clock);
    expect(found).toMatchObject({ text: '1:ok\n3:ok', timedOut: true, truncated: true });
    expect(ticks).toBeGreaterThan(10);
  });

  it('does not hinder the next one', async () => {
    const handle = await put(`${'a'.repeat(80)}!\nok\n`);
    const [slow, quick] = await Promise.all([
      recall(store, handle, { grep: HANGS }),
      recall(store, handle, { grep: '^ok$' }),
    ]);
    expect(slow.timedOut).toBe(true);
    expect(quick).toMatchObject({ text: '2:ok' });
    expect(quick.timedOut).toBe(undefined);
  });

  it('is BAD_OPTION where no engine takes it', async () => {
    const handle = await put('aaa');
    const nested = `${'('.repeat(8)}a${'{1,999})'.repeat(8)}`;
    const found = await recall(store, handle, { grep: nested }).catch((error) => error);
    expect(found.code ?? found.timedOut ?? found.text).toBeOneOf(['BAD_OPTION', true, '1:aaa']);
  });
});

describe('search', () => {
  it('goes through many texts, small and large', async () => {
    const many = createMemoryStore();
    const texts = Array.from(
      { length: 1200 },
      (_, i) => `text ${i}\n${'filler\n'.repeat(i % 100 === 0 ? 40_000 : 3)}end ${i}`,
    );
    await many.putMany(texts.map((text, turn) => ({ text, about: { session: 's', turn } })));
    const found: string[] = [];
    for await (const { text } of many.search('^end \\d*7$', { regex: true, session: 's' })) found.push(text);
    expect(found).toEqual(texts.flatMap((_, i) => (i % 10 === 7 ? [`end ${i}`] : [])));
  });

  it('can be left before its end, and leaves no worker behind', async () => {
    const workers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'MessagePort' || name === 'Worker').length;
    const before = workers();
    for await (const { line } of store.search('o', { regex: true })) {
      expect(line).toBe(1);
      break;
    }
    expect(workers()).toBe(before);
  });
});
