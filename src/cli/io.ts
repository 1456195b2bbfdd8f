import { PalimpsestError } from '../errors.ts';

/** Everything outside a command that it may use, so that tests need no process. */
export interface Io {
  /** Undefined if nothing is piped in. */
  readonly stdin: AsyncIterable<Uint8Array | string> | undefined;
  stdout(text: string): void;
  stderr(text: string): void;
  readFile(path: string): Promise<string>;
  writeFile(path: string, text: string): Promise<void>;
  /** Whether colours may be used on standard output. */
  readonly color: boolean;
  readonly columns: number;
  /** Whether a person sees standard error: long work shows its progress there. */
  readonly isTerminal: boolean;
  /** The environment; empty if left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Resolves at Ctrl-C, or when the system asks to stop. Before the first call, Ctrl-C ends a command at once. */
  interrupted?(): Promise<void>;
}

/** A mistake in how a command was called: the user gets the text and exit code 2. */
export class UsageError extends Error {}

export async function readAll(stream: AsyncIterable<Uint8Array | string>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  try {
    for await (const chunk of stream)
      text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  } catch (cause) {
    throw new PalimpsestError('BAD_INPUT', 'Expected UTF-8 on standard input but found other bytes', { cause });
  }
}
