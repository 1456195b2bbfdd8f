import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/index.ts';
import { logReaders } from '../../../src/lab/readers/detect-run-format.ts';
import { type ReadOptions, readLog } from '../../../src/lab/readers/read-runs.ts';
import type { Context, RunFormat } from '../../../src/lab/run.ts';
import type { Fields, SampleLog } from './sample-log.ts';

/** The tests that every reader of logs passes, on sample logs of its format. */
export function describeReader(format: RunFormat, logs: readonly SampleLog[]): void {
  it('has sample logs of its format', () => {
    expect(new Set(logs.map((log) => log.format))).toEqual(new Set([format]));
  });

  describe.each(logs)('$name', (log) => {
    it('is recognised and read', async () => {
      expectRead(log, await contextsOf(log.text));
    });

    it('is the same when its format is named, when it is zipped, and with line ends of Windows', async () => {
      expectRead(log, await contextsOf(log.text, { format: log.format }));
      expectRead(log, await contextsOf(gzipSync(log.text)));
      expectRead(log, await contextsOf(`\uFEFF${log.text.replaceAll('\n', '\r\n')}`));
    });

    it('has a time or none for every message, and pairs that hold', async () => {
      for (const { messages, times } of await contextsOf(log.text)) {
        expect(times).toHaveLength(messages.length);
        const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
        const answers = messages.flatMap(({ toolCallId = [] }) => toolCallId);
        expect(new Set(calls).size).toBe(calls.length);
        expect(new Set(answers).size).toBe(answers.length);
        expect(calls).toEqual(expect.arrayContaining(answers));
      }
    });

    it('gives what it can, or an error of ours, wherever it is cut off or overwritten', async () => {
      const [end, place] = [fc.nat(log.text.length), fc.nat(log.text.length)];
      const spoiled = fc.tuple(end, place, fc.constantFrom('{', '}', '"', '[', '\\', '\n', '\0', '7'));
      await fc.assert(
        fc.asyncProperty(spoiled, async ([end, place, character]) => {
          await contextsOf(log.text.slice(0, end)).catch(expectPalimpsestError);
          await contextsOf(log.text.slice(0, place) + character + log.text.slice(place + 1)).catch(
            expectPalimpsestError,
          );
        }),
        { numRuns: 10 },
      );
    });

    it('breaks no reader, also not when fields are missing or of another type', async () => {
      const records = recordsOf(log.text);
      await fc.assert(
        fc.asyncProperty(fc.infiniteStream(fc.nat(ODD_VALUES.length * 12)), async (dice) => {
          const spoiled = records.map((record) => spoil(record, dice)) as Fields[];
          for (const reader of logReaders) {
            for (const record of spoiled) if (isObject(record)) reader.matches(record);
            for await (const { messages, times } of reader.read(asyncOf(spoiled.filter(isObject)))) {
              expect(times).toHaveLength(messages.length);
              for (const { content } of messages) expect(content).toBeTypeOf('string');
            }
          }
        }),
        { numRuns: 30 },
      );
    });
  });

  describe.each(logs.filter(({ isLines }) => isLines))('$name', (log) => {
    it('is read whole between lines that are broken', async () => {
      const damage: string[] = [];
      const broken = log.text
        .trim()
        .split('\n')
        .flatMap((line) => [
          '{"type":"user","message":{"content":"cut o',
          '\u0000\u0001 {"garbage',
          line,
          '',
          '12 null [1]',
        ])
        .join('\n');
      expectRead(log, await contextsOf(broken, { onDamage: (_file, reason) => damage.push(reason) }));
      expect(damage.join()).toContain('the JSON that begins in line 1 is cut off, and');
    });

    it('is read whole between lines that were cut off in a list', async () => {
      const cut = '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"cut off"}';
      const lines = log.text.trim().split('\n');
      expectRead(
        log,
        await contextsOf(lines.flatMap((line) => [cut, line, `${cut} {"next":"on its line"}`]).join('\n')),
      );
    });

    it('is read whole with all its objects on one line', async () => {
      expectRead(log, await contextsOf(log.text.trim().split('\n').join(' ')));
      expectRead(log, await contextsOf(`[${log.text.trim().split('\n').join(',')}]`));
    });

    it('is read up to the line that was cut off', async () => {
      const damage: string[] = [];
      const text = `${log.text}{"type":"user","message":{"role":"user","content":[`;
      expectRead(log, await contextsOf(text, { onDamage: (_file, reason) => damage.push(reason) }));
      expect(damage).toEqual([`the JSON that begins in line ${log.text.split('\n').length} is cut off`]);
    });
  });
}

/** Reads a file with this content. */
export async function contextsOf(content: string | Uint8Array, options: ReadOptions = {}): Promise<Context[]> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-readers-'));
  try {
    const file = join(folder, 'log');
    writeFileSync(file, content);
    const contexts: Context[] = [];
    for await (const context of readLog(file, options)) contexts.push(context);
    return contexts;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Expects the contexts that the sample names. */
export function expectRead(log: SampleLog, contexts: readonly Context[]): void {
  expect(contexts.map(show)).toEqual(log.contexts);
  expect(contexts.map(({ run }) => run)).toEqual(log.runs ?? log.contexts.map(() => 0));
  expect(contexts.map(({ carriedTurns }) => carriedTurns)).toEqual(log.carried ?? log.contexts.map(() => 0));
  expect(new Set(contexts.map(({ format }) => format))).toEqual(new Set([log.format]));
}

function show({ messages }: Context): string[] {
  return messages.map(({ role, content, name, toolCallId, toolCalls = [] }) => {
    const about = role === 'tool' ? ` ${toolCallId ?? '-'}${name === undefined ? '' : ` ${name}`}` : '';
    const calls = toolCalls.map((call) => ` ${call.name} ${call.id} ${call.arguments}`);
    return `${role}${about}: ${content.replaceAll('\n', '|')}${calls.join('')}`;
  });
}

export function expectPalimpsestError(error: unknown): void {
  expect(error).toBeInstanceOf(PalimpsestError);
}

function recordsOf(text: string): unknown[] {
  const json = text.slice(Math.max(0, text.search(/^[{[]/m))).replaceAll('NaN', 'null');
  try {
    return [JSON.parse(json)].flat();
  } catch {
    return json
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ODD_VALUES = [null, 0, -1, '', 'x', true, {}, [], [null], [[]], [{}], [1, 'x'], { type: 1 }, undefined];

/** A copy with something odd in the place of about every twelfth value. */
function spoil(value: unknown, dice: IterableIterator<number>): unknown {
  const drawn = dice.next().value as number;
  if (drawn < ODD_VALUES.length) return ODD_VALUES[drawn];
  if (Array.isArray(value)) return value.map((part) => spoil(part, dice));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, spoil(part, dice)]));
}

async function* asyncOf<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}
