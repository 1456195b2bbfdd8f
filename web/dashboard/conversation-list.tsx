import type { ConversationSummary } from '../../src/gateway/receipts/receipt.ts';
import { formatDollars, spentOf } from '../../src/money/show-money.ts';
import { Change } from '../components/change.tsx';
import { formatAgo, formatPlural } from '../format.ts';
import { ActName } from './act-name.tsx';
import { useNow } from './hooks.ts';
import { ARM_LABELS, dollarsOf, inputCostOf, titleOf } from './model.ts';
import { addressOf } from './route.ts';

interface ConversationListProps {
  readonly conversations: readonly ConversationSummary[];
  readonly chosen: string | undefined;
  readonly onMore: (() => void) | undefined;
}

/** Tab reaches one link; the arrow keys reach the others. */
export function ConversationList({ conversations, chosen, onMore }: ConversationListProps) {
  const now = useNow(10_000);
  const isListed = conversations.some(({ id }) => id === chosen);
  return (
    <nav class="list" aria-label="Conversations">
      <h2>
        Conversations <span class="count">{conversations.length}</span>
      </h2>
      <ul onKeyDown={moveBetweenLinks}>
        {conversations.map((conversation, index) => (
          <li key={conversation.id}>
            <Item
              conversation={conversation}
              now={now}
              isChosen={conversation.id === chosen}
              isReached={isListed ? conversation.id === chosen : index === 0}
            />
          </li>
        ))}
      </ul>
      {onMore && (
        <button type="button" class="more" onClick={onMore}>
          Show more
        </button>
      )}
    </nav>
  );
}

interface ItemProps {
  readonly conversation: ConversationSummary;
  readonly now: number;
  readonly isChosen: boolean;
  readonly isReached: boolean;
}

const ACTIVE_MS = 60_000;

function Item({ conversation, now, isChosen, isReached }: ItemProps) {
  const { id, model, api, requests, lastAt, act, arm, because, money } = conversation;
  const { sums } = dollarsOf(money);
  const idleMs = now - Date.parse(lastAt);
  return (
    <a
      href={addressOf(id)}
      class="item"
      tabIndex={isReached ? 0 : -1}
      aria-current={isChosen ? 'true' : undefined}
      title={because}
    >
      <span class="item-title">{titleOf(conversation)}</span>
      <span class="item-change">
        <Change share={inputCostOf(conversation).change} />
      </span>
      <span class="item-note">
        {model ?? api} · {formatPlural(requests, 'request')}
      </span>
      <span class={idleMs < ACTIVE_MS ? 'item-time is-active' : 'item-time'}>{formatAgo(idleMs)}</span>
      <span class="item-foot">
        <span>
          <ActName act={act} arm={arm} /> {arm !== 'treated' && <span class="act act-wait">{ARM_LABELS[arm]}</span>}
        </span>
        {sums.requests > 0 && (
          <span class="item-money">
            {formatDollars(spentOf(sums))}, saved {formatDollars(sums.without - sums.sent)}
          </span>
        )}
      </span>
    </a>
  );
}

const STEPS: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowDown: (index, last) => Math.min(index + 1, last),
  ArrowUp: (index) => Math.max(index - 1, 0),
  Home: () => 0,
  End: (_, last) => last,
};

function moveBetweenLinks(event: KeyboardEvent): void {
  const step = STEPS[event.key];
  if (!step || !(event.currentTarget instanceof HTMLElement)) return;
  const links = [...event.currentTarget.querySelectorAll('a')];
  const index = links.indexOf(document.activeElement as HTMLAnchorElement);
  event.preventDefault();
  links[step(index, links.length - 1)]?.focus();
}
