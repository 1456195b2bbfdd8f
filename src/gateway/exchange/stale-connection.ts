import type { Socket } from 'node:net';
import { requestLimits } from '../../limits.ts';
import type { ConnectionWatch } from './skip-continue.ts';

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
export function markStale(socket: Socket): ConnectionWatch {
  let requests = 0;
  let sentAt = 0;
  let isUnanswered = false;
  const isClosedAsIdle = (): boolean =>
    requests > 1 && isUnanswered && performance.now() - sentAt < requestLimits.staleMs;
  socket.on('end', () => {
    if (isClosedAsIdle()) socket.destroy(new StaleConnectionError('The upstream closed an idle connection'));
  });
  socket.on('error', (error) => {
    if (isClosedAsIdle()) stale.add(error);
  });
  return {
    requested: () => {
      requests += 1;
      sentAt = performance.now();
      isUnanswered = true;
    },
    answered: () => {
      isUnanswered = false;
    },
  };
}
