import { useNow } from './hooks.ts';
import type { Connection } from './live-state.ts';

interface ConnectionStateProps {
  readonly connection: Connection;
  /** Whether the gateway has answered before. */
  readonly isKnown: boolean;
  readonly onRetry: () => void;
}

/** Says whether the page is up to date. */
export function ConnectionState({ connection, isKnown, onRetry }: ConnectionStateProps) {
  return (
    <div class={`connection is-${connection.kind}`}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{wordsOf(connection, isKnown)}</span>
      {connection.kind === 'lost' && (
        <>
          <Countdown until={connection.retryAt} />
          <button type="button" class="link-button" onClick={onRetry}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}

function wordsOf(connection: Connection, isKnown: boolean): string {
  if (connection.kind === 'live') return 'Live';
  if (connection.kind === 'connecting') return isKnown ? 'Connecting again…' : 'Connecting…';
  return connection.because;
}

/** Not read aloud by screen readers: only the lost connection is news. */
function Countdown({ until }: { readonly until: number }) {
  const seconds = Math.max(0, Math.ceil((until - useNow(500)) / 1000));
  return <span class="connection-note">next try in {seconds} s</span>;
}
