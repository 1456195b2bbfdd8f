import type { RunFormat } from '../run.ts';
import type { Fields } from './json-values.ts';
import type { Draft } from './transcript.ts';

/** Reads one kind of log. */
export interface LogReader {
  readonly format: RunFormat;
  /** Whether a record can only come from such a log. The first record that a reader recognises decides for its file. */
  matches(record: Fields): boolean;
  /** The contexts of a file, each as soon as it is complete. Its path leads to other logs of the agent. */
  read(records: AsyncIterable<Fields>, file?: string): AsyncGenerator<Draft, void, undefined>;
}

/** A run that is read record by record. It yields a context when the run is cut. */
export interface Session {
  add(record: Fields): Iterable<Draft>;
  end(): Iterable<Draft>;
}

export interface SessionLog {
  readonly format: RunFormat;
  matches(record: Fields): boolean;
  /** Begins a run: of one object, or of separate records. */
  begin(run: number, whole?: Fields, file?: string): Session;
  /** The id of the run that a record begins: several outputs of an agent can follow each other in one file. */
  idOf?(record: Fields): string | undefined;
  /** The records of an object that is a whole run. */
  partsOf?(record: Fields, file?: string): readonly Fields[] | undefined;
}

/** A reader of files that hold whole runs, or the records of one run, one by one. */
export function sessionReader({ format, matches, begin, ...log }: SessionLog): LogReader {
  const { partsOf = () => undefined, idOf = () => undefined } = log;
  return {
    format,
    matches,
    async *read(records, file) {
      let run = 0;
      let loose: Session | undefined;
      let id: string | undefined;
      for await (const record of records) {
        const parts = partsOf(record, file);
        if (parts) yield* readAll(begin(run++, record, file), parts);
        else {
          const next = idOf(record) ?? id;
          if (id !== undefined && next !== id && loose) {
            yield* loose.end();
            loose = undefined;
          }
          id = next;
          loose ??= begin(run++, undefined, file);
          yield* loose.add(record);
        }
      }
      if (loose) yield* loose.end();
    },
  };
}

function* readAll(session: Session, records: readonly Fields[]): Generator<Draft> {
  for (const record of records) yield* session.add(record);
  yield* session.end();
}

/** Milliseconds since 1970, from a date as text, in seconds or in milliseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'string') return timeOf(Date.parse(value));
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) return undefined;
  return Math.round(value < SECONDS_END ? value * 1000 : value);
}

/** As milliseconds this is March 1973; as seconds it is far in the future. */
const SECONDS_END = 1e11;

/** The texts of a string, a part, or a list of them; images and other parts have none. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return joinTexts(content.map(textOf));
  const { type, text } = (content ?? {}) as Fields;
  return typeof text === 'string' && (type === undefined || String(type).endsWith('text')) ? text : '';
}

export const joinTexts = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');
