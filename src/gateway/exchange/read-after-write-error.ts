import type { Socket } from 'node:net';

/**
 * Keeps a socket open for reading after a write failed because the other side has closed the connection. An upstream that
 * refuses an upload early answers and closes. Its answer is then in the kernel, but Node destroys a socket at the first
 * failed write, and undici reports `EPIPE`. The read side always shows the end: first the answer, then the end or a reset.
 */
export function readAfterWriteError<S extends Socket>(socket: S): S {
  const write = socket._write.bind(socket);
  const writeAll = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, unlessClosed(done));
  if (writeAll) socket._writev = (chunks, done) => writeAll(chunks, unlessClosed(done));
  return socket;
}

type Done = (error?: NodeJS.ErrnoException | null) => void;

/** A write that never completes also holds back all later ones. */
const unlessClosed =
  (done: Done): Done =>
  (error) => {
    if (error?.code !== 'EPIPE' && error?.code !== 'ECONNRESET') done(error);
  };
