import type { Socket } from 'node:net';
import { requestLimits } from '../../limits.ts';
import { isRequestHead } from './skip-continue.ts';

/** An upstream closed a connection just as a request was sent on it. */
class StaleConnectionError extends Error {
  readonly code = 'UND_ERR_SOCKET';
}

const stale = new WeakSet<Error>();

/**
 * Whether the request may be sent again: its connection had answered an earlier request, and was closed at once and without a byte. The
 * upstream had closed it as idle, and the request crossed that close. A provider that has begun an answer closes later.
 */
export const isStale = (error: Error): boolean => stale.has(error);

/** Marks the errors of requests that were sent on a connection while the upstream closed it. */
export function markStale<S extends Socket>(socket: S): S {
  const read = socket.read.bind(socket);
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  let requests = 0;
  let sentAt = 0;
  let isUnanswered = false;
  socket.write = ((data: unknown, ...rest: unknown[]) => {
    if (isRequestHead(data)) {
      requests += 1;
      sentAt = performance.now();
      isUnanswered = true;
    }
    return write(data, ...rest);
  }) as S['write'];
  socket.read = (size) => {
    const chunk = read(size);
    if (chunk !== null) isUnanswered = false;
    return chunk;
  };
  const isClosedAsIdle = (): boolean =>
    requests > 1 && isUnanswered && performance.now() - sentAt < requestLimits.staleMs;
  socket.on('end', () => {
    if (isClosedAsIdle()) socket.destroy(new StaleConnectionError('The upstream closed an idle connection'));
  });
  socket.on('error', (error) => {
    if (isClosedAsIdle()) stale.add(error);
  });
  return socket;
}
