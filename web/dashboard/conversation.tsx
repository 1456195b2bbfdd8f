import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { ConversationSummary, Receipt } from '../../src/gateway/receipts/receipt.ts';
import { formatDollars, whatIsPriced } from '../../src/money/show-money.ts';
import { Change } from '../components/change.tsx';
import { MaskedLine } from '../components/masked-line.tsx';
import { MaskedResults } from '../components/masked-results.tsx';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { SentPlot } from '../components/sent-plot.tsx';
import { atPrices, formatPlural, formatTokens } from '../format.ts';
import { Decision } from './decision.tsx';
import type { GatewayApi, Part } from './gateway-api.ts';
import { keyOfMask, type Opened } from './live-state.ts';
import { MaskingEvents } from './masking-events.tsx';
import {
  costPoints,
  dollarsOf,
  firstRequests,
  HOW_WORDS,
  inputCostOf,
  maskedWords,
  sizePoints,
  titleOf,
  unsentWords,
  windowWords,
} from './model.ts';
import { Recalled } from './recalled.tsx';
import { Requests } from './requests.tsx';
import { HOME } from './route.ts';

interface ConversationProps {
  readonly api: GatewayApi;
  readonly opened: Opened;
  readonly isWide: boolean;
}

/** One conversation: its cost, its growth, its masks and their reasons. */
export function Conversation({ api, opened, isWide }: ConversationProps) {
  const { conversation, failure } = opened;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isWide) return;
    // On a phone the conversation replaces the list, so the focus moves here.
    title.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [isWide]);
  return (
    <article class="conversation" aria-labelledby="conversation">
      <a class="back" href={HOME}>
        ‹ All conversations
      </a>
      <h2 id="conversation" ref={title} tabIndex={-1}>
        {conversation ? titleOf(conversation) : 'Conversation'}
      </h2>
      {conversation && failure !== undefined && (
        <p class="alarm" role="alert">
          {failure}. This page shows an older state.
        </p>
      )}
      {conversation && <Whole api={api} opened={opened} conversation={conversation} />}
      {!conversation && <p class="empty">{failure ?? 'On its way…'}</p>}
    </article>
  );
}

interface WholeProps extends Omit<ConversationProps, 'isWide'> {
  readonly conversation: ConversationSummary;
}

function Whole({ api, opened, conversation }: WholeProps) {
  const { receipts } = opened;
  return (
    <>
      <Summary conversation={conversation} last={receipts.at(-1)} />
      <Decision receipt={receipts.at(-1)} />
      <Plots receipts={receipts} />
      <MaskingEvents receipts={receipts} />
      <Masked api={api} opened={opened} />
      <ShapedResults api={api} opened={opened} />
      <Requests receipts={receipts} />
    </>
  );
}

interface SummaryProps {
  readonly conversation: ConversationSummary;
  readonly last: Receipt | undefined;
}

function Summary({ conversation, last }: SummaryProps) {
  const { model, api, prices, requests, tokensIn, tokensSent, money, firstAt } = conversation;
  const { change, words, isInDollars } = inputCostOf(conversation);
  const window = last && windowWords(last);
  return (
    <div class="summary">
      <p class="summary-cost">
        <strong>
          <Change share={change} />
        </strong>{' '}
        input cost: {words}
        {!isInDollars && `, ${atPrices(prices)}`}
      </p>
      <p class="summary-money">
        {window ?? `${whatIsPriced(money)}${dollarsOf(money).sums.requests > 0 ? ', answers included' : ''}.`}
      </p>
      <p class="note">
        {formatPlural(requests, 'request')} sent {formatTokens(tokensSent)} of {formatTokens(tokensIn)} tokens ·{' '}
        <Masks conversation={conversation} /> · {model ?? 'unknown model'} · {api} · since <Moment time={firstAt} />
      </p>
    </div>
  );
}

function Masks({ conversation }: { readonly conversation: ConversationSummary }) {
  const { epochs, masked, shaped, arm, unsent } = conversation;
  const why = unsentWords(arm);
  if (why)
    return (
      <>
        sent unchanged, because the session is {why}: masks would have left out {formatTokens(unsent.tokens)} tokens (an
        estimate)
      </>
    );
  return <>{maskedWords({ masked, epochs, shaped })}</>;
}

const SIZE = { sent: 'sent', without: 'would have been sent' };
const COST = { sent: 'cost', without: 'would have cost' };

/** Drawn again only for a new request, so that an open tip stays. */
function Plots({ receipts }: { readonly receipts: readonly Receipt[] }) {
  return useMemo(() => {
    const isPart = (receipts[0]?.request ?? 1) > 1;
    const since = isPart ? `, from request ${receipts[0]?.request} on` : '';
    const sizes = sizePoints(receipts);
    const { points, isInDollars } = costPoints(receipts);
    const isEstimated = receipts.some(({ estimated }) => estimated);
    return (
      <div class="columns">
        <Panel
          title="Context"
          note={`Tokens in each request.${isEstimated ? ' Where the provider counted nothing, an estimate.' : ''}`}
          empty={sizes.length === 0 && (receipts.length === 0 ? 'No request yet.' : 'No request was answered.')}
        >
          <SentPlot label="Tokens of each request, sent and not sent" names={SIZE} points={sizes} />
        </Panel>
        <Panel
          title="Cost so far"
          note={`Of prompts, ${isInDollars ? 'in dollars' : 'in tokens at the base price'}, added up${since}.`}
          empty={receipts.length === 0 && 'No request yet.'}
        >
          <SentPlot
            label="Cost of all requests up to each"
            names={COST}
            points={points}
            {...(isInDollars ? { format: formatDollars } : {})}
          />
        </Panel>
      </div>
    );
  }, [receipts]);
}

/** Only the beginning of a larger text is shown at first. */
const WHOLE_CHARS = 200_000;
const startOf = (chars: number): Part => (chars > WHOLE_CHARS ? { kind: 'head', lines: 400 } : { kind: 'all' });

function Masked({ api, opened }: Omit<ConversationProps, 'isWide'>) {
  const { masks, receipts } = opened;
  const requests = useMemo(() => firstRequests(receipts, keyOfMask), [receipts]);
  return (
    <Panel
      title="Masked results"
      note={masks.length > 0 && 'The newest first. Open one to read what it hides.'}
      empty={masks.length === 0 && 'Nothing is masked in this conversation.'}
    >
      <MaskedResults
        lines={masks
          .toReversed()
          .map((mask) => (
            <MaskedLine
              key={keyOfMask(mask)}
              turn={mask.turn}
              tool={mask.tool}
              tokens={mask.tokens}
              request={requests.get(keyOfMask(mask))}
              placeholder={mask.placeholder}
              title="Original"
              original={() => <Recalled api={api} handle={mask.handle} start={startOf(mask.chars)} isOriginal />}
            />
          ))}
      />
    </Panel>
  );
}

/** The results that were made smaller on arrival. Nothing is shown if there are none. */
function ShapedResults({ api, opened }: Omit<ConversationProps, 'isWide'>) {
  const { shaped } = opened;
  if (shaped.length === 0) return null;
  const saved = shaped.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <Panel
      title="Made smaller on arrival"
      note={`These results were ${formatTokens(saved)} tokens smaller when they were first sent. Some may be masked since. Open one to read its original.`}
    >
      <MaskedResults
        lines={shaped
          .toReversed()
          .map((one) => (
            <MaskedLine
              key={keyOfMask(one)}
              turn={one.turn}
              tool={one.tool}
              tokens={one.tokens}
              how={HOW_WORDS[one.how]}
              request={undefined}
              placeholder={one.placeholder}
              title="Original"
              original={() => <Recalled api={api} handle={one.handle} start={startOf(one.chars)} />}
            />
          ))}
      />
    </Panel>
  );
}
