import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Status } from '../../src/gateway/receipts/receipt.ts';
import { ConnectAgent } from './connect-agent.tsx';
import { ConnectionState } from './connection-state.tsx';
import { Conversation } from './conversation.tsx';
import { ConversationList } from './conversation-list.tsx';
import { Figures } from './figures.tsx';
import { createGatewayApi } from './gateway-api.ts';
import { useIsWide, useWatch } from './hooks.ts';
import { ReportView } from './report-view.tsx';
import { addressOf, HOME, REPORT, useRoute } from './route.ts';
import { noSearch, SearchField } from './search-field.tsx';
import { SearchResults } from './search-results.tsx';
import { Settings } from './settings.tsx';

interface OverviewProps {
  readonly token: string;
  readonly onRefused: (because: string) => void;
}

/** The list of conversations, and one of them in detail, or the results of a search. */
export function Overview({ token, onRefused }: OverviewProps) {
  const api = useMemo(() => createGatewayApi(token), [token]);
  const [state, watch] = useWatch(api);
  const [search, setSearch] = useState(noSearch);
  const field = useRef<HTMLInputElement>(null);
  const { chosen, isReport } = useRoute();
  const isWide = useIsWide();
  const { connection, status, conversations, opened } = state;
  const first = conversations[0]?.id;
  const isSearching = search.text.trim() !== '';

  useEffect(() => {
    if (connection.kind === 'refused') onRefused(connection.because);
  }, [connection, onRefused]);
  useEffect(() => watch?.open(chosen), [watch, chosen]);
  useEffect(() => {
    if (isWide && !isReport && chosen === undefined && first !== undefined) location.replace(addressOf(first));
  }, [isWide, isReport, chosen, first]);
  useKeys({
    onSearch: () => field.current?.focus(),
    onEscape: () => {
      if (isSearching) setSearch(noSearch);
      if (!isSearching && (isReport || (!isWide && chosen !== undefined))) location.hash = HOME;
      focusList();
    },
  });

  const isEmpty = status !== undefined && conversations.length === 0;
  return (
    <>
      <header class="top">
        <h1 class="brand">
          Palimpsest <span class="brand-part">gateway</span>
        </h1>
        <SearchField field={field} search={search} onSearch={setSearch} />
        <ConnectionState connection={connection} isKnown={status !== undefined} onRetry={() => watch?.retry()} />
        <a class="action" href={isReport ? HOME : REPORT}>
          {isReport ? 'Conversations' : 'Report'}
        </a>
        <Settings status={status} />
      </header>
      <main class={chosen !== undefined || isSearching ? 'board is-inside' : 'board'}>
        {status && isStoreDown(status) && (
          <p class="alarm" role="alert">
            The store does not answer{status.store.because && `: ${status.store.because}`}. Nothing new is masked until
            it does.
          </p>
        )}
        {isReport && !isSearching && <ReportView api={api} />}
        {status && !isEmpty && !isReport && <Figures totals={status.totals} />}
        {isEmpty && !isSearching && !isReport && <ConnectAgent token={token} />}
        {status && (isSearching || !(isEmpty || isReport)) && (
          <div class="panes">
            <ConversationList
              conversations={conversations}
              chosen={chosen}
              onMore={state.hasMore ? () => watch?.showMore() : undefined}
            />
            <div class="pane">
              {isSearching ? (
                <SearchResults
                  api={api}
                  search={search}
                  onSearch={setSearch}
                  conversations={conversations}
                  chosen={chosen}
                />
              ) : (
                opened && <Conversation key={opened.id} api={api} opened={opened} isWide={isWide} />
              )}
            </div>
          </div>
        )}
      </main>
      <footer>
        <p class="note">
          Dollars are tokens at the list price of the model, or at your own (<code>--price-file</code>): discounts and
          taxes are not in them. “Billed” is made of tokens that the provider counted, “estimated” of tokens that the
          gateway estimated because the provider counted none. What would have been sent without the gateway is always
          an estimate, and so is what is saved. A model without a known price has its cost in tokens at the base price:
          what the provider read from its cache counts at its price for reading, the rest at its price for writing.
        </p>
      </footer>
    </>
  );
}

/** Before the first request there may be no store, which is fine. */
const isStoreDown = ({ store }: Status): boolean => !store.ok && store.kind !== 'none';

interface Keys {
  readonly onSearch: () => void;
  readonly onEscape: () => void;
}

/** `/` goes to the search, Escape closes the innermost open part: a dialog, a masked result, the search, the conversation. */
function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const target = event.target instanceof HTMLElement ? event.target : undefined;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === 'Escape' && !target?.closest('dialog') && !closeAround(target)) latest.current.onEscape();
      if (event.key === '/' && !target?.matches('input, select, textarea')) {
        event.preventDefault();
        latest.current.onSearch();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** Closes the innermost thing that is open around the focus. */
function closeAround(target: HTMLElement | undefined): boolean {
  const details = target?.closest<HTMLDetailsElement>('details[open]');
  if (!details) return false;
  details.open = false;
  details.querySelector('summary')?.focus();
  return true;
}

/** After the next render: on a phone the list does not exist before. */
const focusList = (): void => {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.list a[tabindex="0"]')?.focus()),
  );
};
