import type { Socket } from 'node:net';
import { answerLimits } from '../../limits.ts';

/** Hears of what goes over a connection. */
export interface ConnectionWatch {
  /** The head of a request is sent. */
  requested(): void;
  /** Bytes of an answer came, if only of a `100 Continue`. */
  answered(): void;
}

/**
 * Skips every `100 Continue` that an upstream sends before an answer. A proxy has to (RFC 9110, 15.2.1), but undici treats an unrequested
 * one as a broken answer and ends the connection.
 */
export function skipContinue<S extends Socket>(socket: S, watch: ConnectionWatch): S {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  let isHeadNext = false;
  let held: Buffer | undefined;
  socket.write = ((data: unknown, ...rest: unknown[]) => {
    // undici writes the head of each request as one text; bodies are bytes, sizes of chunks are short texts.
    if (typeof data === 'string' && data.includes(REQUEST_LINE_END)) {
      isHeadNext = true;
      watch.requested();
    }
    return write(data, ...rest);
  }) as S['write'];
  socket.read = (size) => {
    const chunk = read(size) as Buffer | null;
    if (!isHeadNext || chunk === null) return chunk;
    watch.answered();
    const rest = withoutContinue(held ? Buffer.concat([held, chunk]) : chunk);
    held = rest.isWhole ? undefined : rest.bytes;
    if (!rest.isWhole) return null;
    isHeadNext = false;
    return rest.bytes;
  };
  return socket;
}

const REQUEST_LINE_END = ' HTTP/1.1\r\n';
const CONTINUE = Buffer.from('HTTP/1.1 100');
const HEAD_END = '\r\n\r\n';

interface Rest {
  readonly bytes: Buffer;
  /** False if more bytes are needed. */
  readonly isWhole: boolean;
}

function withoutContinue(bytes: Buffer): Rest {
  let start = 0;
  for (;;) {
    const length = Math.min(CONTINUE.length, bytes.length - start);
    if (bytes.compare(CONTINUE, 0, length, start, start + length) !== 0) break;
    const end = bytes.indexOf(HEAD_END, start);
    if (end === -1) {
      // The parser gets it and refuses it.
      const isWhole = bytes.length - start > answerLimits.continueBytes;
      return { bytes: bytes.subarray(start), isWhole };
    }
    start = end + HEAD_END.length;
  }
  return { bytes: bytes.subarray(start), isWhole: true };
}
