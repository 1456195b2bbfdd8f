import { useState } from 'preact/hooks';
import type { ConversationSummary } from '../../src/gateway/receipts/receipt.ts';
import { Choice } from '../components/choice.tsx';
import { Panel } from '../components/panel.tsx';
import { formatCount, formatPlural } from '../format.ts';
import type { GatewayApi, Match } from './gateway-api.ts';
import { useAnswer, useSettled } from './hooks.ts';
import { isHandle, linesAround, matchesIn, sessionIn, titleOf } from './model.ts';
import { Recalled } from './recalled.tsx';
import { addressOf } from './route.ts';
import { noSearch, type Search } from './search-field.tsx';

interface SearchResultsProps {
  readonly api: GatewayApi;
  readonly search: Search;
  readonly onSearch: (search: Search) => void;
  readonly conversations: readonly ConversationSummary[];
  readonly chosen: string | undefined;
}

const SETTLED_MS = 250;
const WHERE = [
  { value: 'all', text: 'all conversations' },
  { value: 'here', text: 'this one' },
] as const;
const HOW = [
  { value: 'text', text: 'this text' },
  { value: 'regex', text: 'a pattern' },
] as const;

/** The matching lines, grouped by their text. A handle is recalled at once. */
export function SearchResults(props: SearchResultsProps) {
  const { api, search, onSearch } = props;
  const text = search.text.trim();
  const close = (
    <button type="button" class="link-button" onClick={() => onSearch(noSearch)}>
      Close search
    </button>
  );
  return (
    <div class="search-results">
      <div class="pane-head">
        <h2>Search</h2>
        {close}
      </div>
      {isHandle(text) ? (
        <Panel title={`Recalled ${text}`}>
          <Recalled key={text} api={api} handle={text} start={{ kind: 'all' }} />
        </Panel>
      ) : (
        <Matches {...props} />
      )}
    </div>
  );
}

function Matches({ api, search, onSearch, conversations, chosen }: SearchResultsProps) {
  const settled = useSettled(search, SETTLED_MS);
  const { isRegex } = settled;
  const text = settled.text.trim();
  const conversation = settled.isHere ? chosen : undefined;
  const key = text === '' ? undefined : JSON.stringify([text, isRegex, conversation]);
  const { value, failure, isWaiting } = useAnswer(key, (signal) =>
    api.search({ text, regex: isRegex, conversation }, signal),
  );
  const groups = byHandle(value?.matches ?? []);
  const isNothing = value !== undefined && groups.length === 0 && !isWaiting;
  return (
    <>
      <div class="search-bar">
        <Choice
          label="Where"
          value={search.isHere ? 'here' : 'all'}
          options={chosen === undefined ? WHERE.slice(0, 1) : WHERE}
          onChoose={(where) => onSearch({ ...search, isHere: where === 'here' })}
        />
        <Choice
          label="For"
          value={isRegex ? 'regex' : 'text'}
          options={HOW}
          onChoose={(how) => onSearch({ ...search, isRegex: how === 'regex' })}
        />
        <p class="note" role="status">
          {isWaiting ? 'Searching…' : (failure ?? summaryOf(value?.matches ?? [], groups.length))}
          {value?.timedOut && !isWaiting && ' The pattern took too long: there may be more.'}
        </p>
      </div>
      {isNothing && <p class="empty">No masked text matches.</p>}
      {groups.map((matches) => (
        <Group
          key={matches[0]?.handle}
          api={api}
          matches={matches}
          query={isRegex ? '' : text}
          conversations={conversations}
        />
      ))}
    </>
  );
}

const summaryOf = (matches: readonly Match[], texts: number): string =>
  matches.length === 0 ? '' : `${formatPlural(matches.length, 'line')} in ${formatPlural(texts, 'text')}`;

function byHandle(matches: readonly Match[]): readonly (readonly Match[])[] {
  const groups = new Map<string, Match[]>();
  for (const match of matches) {
    const group = groups.get(match.handle);
    if (group) group.push(match);
    else groups.set(match.handle, [match]);
  }
  return [...groups.values()];
}

interface GroupProps {
  readonly api: GatewayApi;
  readonly matches: readonly Match[];
  readonly query: string;
  readonly conversations: readonly ConversationSummary[];
}

/** The number of listed lines of one text. The rest is visible when the text is opened. */
const LISTED = 5;

function Group({ api, matches, query, conversations }: GroupProps) {
  const [first] = matches;
  if (!first) return null;
  const session = sessionIn(first.session);
  const conversation = conversations.find((summary) => summary.session === session);
  const turn = first.turn === undefined ? '' : `, turn ${first.turn}`;
  const rest = matches.length - LISTED;
  return (
    <Panel
      title={`${first.tool || 'result'}${turn}`}
      note={
        <>
          {conversation && <a href={addressOf(conversation.id)}>{titleOf(conversation)}</a>} <code>{first.handle}</code>
        </>
      }
    >
      <div class="hits">
        {matches.slice(0, LISTED).map((match) => (
          <Hit key={match.line} api={api} match={match} query={query} />
        ))}
      </div>
      {rest > 0 && <p class="note">and {formatPlural(rest, 'line')} more in the same text</p>}
    </Panel>
  );
}

function Hit({ api, match, query }: { readonly api: GatewayApi; readonly match: Match; readonly query: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const { handle, line, text } = match;
  return (
    <details class="hit" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span class="hit-line">{formatCount(line)}</span>
        <code>
          {matchesIn(text, query).map((part, index) =>
            part.isMatch ? <mark key={index}>{part.text}</mark> : part.text,
          )}
        </code>
      </summary>
      {isOpen && <Recalled api={api} handle={handle} line={line} start={{ kind: 'lines', ...linesAround(line) }} />}
    </details>
  );
}
