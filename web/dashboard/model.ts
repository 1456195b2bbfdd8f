import type { Act, ConversationSummary, Mask, Receipt, Shaped, Totals } from '../../src/gateway/receipts/receipt.ts';
import { addSums, type DollarSums, type MoneyTotals } from '../../src/money/money-totals.ts';
import { formatDollars, spentOf, whatIsPriced } from '../../src/money/show-money.ts';
import type { Arm } from '../../src/report/request-record.ts';
import type { SentPoint } from '../components/sent-plot.tsx';
import { formatMs, formatPlural, formatShare, formatTokens } from '../format.ts';

type Cost = ConversationSummary['cost'];

/** The change against no gateway: -0.31 is 31 % less. */
export const changeOf = ({ without, sent }: Cost): number | undefined => (without > 0 ? sent / without - 1 : undefined);

/** The sum of everything with a price in dollars, billed and estimated, and whether it covers all requests. */
export function dollarsOf({ billed, estimated, subscription, unpriced }: MoneyTotals): {
  readonly sums: DollarSums;
  readonly isAll: boolean;
} {
  const sums = addSums(billed, estimated);
  return { sums, isAll: sums.requests > 0 && subscription + unpriced === 0 };
}

interface InputCost {
  readonly change: number | undefined;
  readonly words: string;
  readonly isInDollars: boolean;
}

/** The input cost, with and without the gateway: in dollars if everything has a price, otherwise in tokens at the base price. */
export function inputCostOf({ cost, money }: { readonly cost: Cost; readonly money: MoneyTotals }): InputCost {
  const { sums, isAll } = dollarsOf(money);
  if (isAll)
    return {
      change: changeOf(sums),
      words: `${formatDollars(sums.sent)} instead of ${formatDollars(sums.without)} (an estimate)`,
      isInDollars: true,
    };
  const words = `${formatTokens(cost.sent)} instead of ${formatTokens(cost.without)}, in tokens at the base price`;
  return { change: changeOf(cost), words, isInDollars: false };
}

/** Words for the acts of the gateway. */
const ACT_WORDS: Readonly<Record<Act, string>> = {
  mask: 'masked',
  wait: 'waits',
  'cold-cache': 'masked, cache cold',
  'over-limit': 'masked, over limit',
  off: 'not edited',
  'pass-through': 'passed through',
};

/** The same for a session that is sent unchanged. */
const UNSENT_ACT_WORDS: Partial<Readonly<Record<Act, string>>> = {
  mask: 'would mask',
  'cold-cache': 'would mask, cache cold',
  'over-limit': 'would mask, over limit',
};

export const actWords = (act: Act, arm: Arm): string =>
  (arm === 'treated' ? undefined : UNSENT_ACT_WORDS[act]) ?? ACT_WORDS[act] ?? act;

/** Why a session is sent unchanged; undefined for one that is masked. */
export const unsentWords = (arm: Arm): string | undefined => UNSENT_WORDS[arm];

/** A label for the list of conversations. */
export const ARM_LABELS: Readonly<Record<Exclude<Arm, 'treated'>, string>> = {
  'held-out': 'held out',
  shadow: 'shadow',
};

const UNSENT_WORDS: Partial<Readonly<Record<Arm, string>>> = {
  'held-out': 'held out for comparison',
  shadow: 'in shadow',
};

/** `shaped` counts those that are not masked: the list below it also has those that were masked later. */
export const maskedWords = ({
  masked,
  epochs,
  shaped,
}: Pick<ConversationSummary, 'masked' | 'epochs' | 'shaped'>): string => {
  const smaller = 'made smaller on arrival';
  if (masked === 0) return shaped === 0 ? 'no result masked yet' : `${formatPlural(shaped, 'result')} ${smaller}`;
  const masks = `${formatPlural(masked, 'result')} masked in ${formatPlural(epochs, 'epoch')}`;
  return shaped === 0 ? masks : `${masks}, ${formatPlural(shaped, 'other')} ${smaller}`;
};

/** How a result was made smaller when it was first sent, in a word or two. */
export const HOW_WORDS: Readonly<Record<Shaped['how'], string>> = {
  clean: 'cleaned',
  references: 'repeated lines',
  'shell-output': 'long output',
  truncate: 'cut',
  clip: 'cut',
  'old-text': 'old text left out',
  mask: 'masked',
};

/** A number and its denominator. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  /** A change, which has a colour. */
  readonly change?: number | undefined;
  /** The denominator. */
  readonly of: string;
}

export function figuresOf(totals: Totals): readonly Figure[] {
  const { tokensIn, tokensSent, cached, written, masked, shaped, refused, failed, requests, overheadMs } = totals;
  const tokens = { without: tokensIn, sent: tokensSent };
  const input = inputCostOf(totals);
  return [
    ...moneyFigures(totals.money),
    { name: 'Input cost', value: '', change: input.change, of: input.words },
    {
      name: 'Tokens sent',
      value: '',
      change: changeOf(tokens),
      of: `${formatTokens(tokensSent)} of the ${formatTokens(tokensIn)} that came in`,
    },
    {
      name: 'From the cache',
      value: formatShare(cached / (cached + written)),
      of: `of the ${formatTokens(cached + written)} tokens that were sent`,
    },
    {
      name: 'Requests',
      value: formatTokens(requests),
      of: `in ${formatPlural(totals.conversations, 'conversation')}, ${refused === 0 ? 'none' : formatTokens(refused)} refused${failed > 0 ? `, ${formatTokens(failed)} failed` : ''}`,
    },
    {
      name: 'Results masked',
      value: formatTokens(masked),
      of: `and ${shaped === 0 ? 'none' : formatTokens(shaped)} made smaller when first sent${masked + shaped === 0 ? '' : '; each can be recalled'}${unsentNote(totals.unsent)}`,
    },
    {
      name: 'Own overhead',
      value: formatMs(overheadMs.median),
      of: `median of a request; ${formatMs(overheadMs.p99)} for 1 in 100`,
    },
  ];
}

function unsentNote({ requests, tokens }: Totals['unsent']): string {
  if (requests === 0) return '';
  const were = `${formatPlural(requests, 'request')} ${requests === 1 ? 'was' : 'were'} sent unchanged, held out or in shadow`;
  return `. ${were}: masks would have left out ${formatTokens(tokens)} tokens (an estimate)`;
}

function moneyFigures(money: MoneyTotals): readonly Figure[] {
  const { sums } = dollarsOf(money);
  const priced = whatIsPriced(money);
  if (sums.requests === 0)
    return [
      { name: 'Spent', value: '–', of: `${priced}: see the tokens` },
      { name: 'Saved', value: '–', of: 'in dollars where a price is known' },
    ];
  return [
    { name: 'Spent', value: formatDollars(spentOf(sums)), of: priced },
    {
      name: 'Saved',
      value: formatDollars(sums.without - sums.sent),
      of: `an estimate: input would have cost ${formatDollars(sums.without)}, not ${formatDollars(sums.sent)}`,
    },
  ];
}

/** The share of the context window that a request of a subscription takes, with and without masks. */
export function windowWords({ money, sent, without }: Receipt): string | undefined {
  if (!money || !('subscription' in money)) return undefined;
  const size = `Paid by subscription. The last request had ${formatTokens(sent.tokens)} tokens`;
  if (money.window === undefined) return `${size}; ${formatTokens(without.tokens)} without masks (an estimate).`;
  const share = (tokens: number): string => formatShare(tokens / (money.window ?? 1));
  return (
    `${size}, ${share(sent.tokens)} of the context window of ${formatTokens(money.window)}; ` +
    `${share(without.tokens)} without masks (an estimate).`
  );
}

/** An event in a conversation that changed the masks, or prevented a change. */
export interface MaskingEvent {
  readonly receipt: Receipt;
  readonly kind: 'epoch' | 'refused' | 'still';
  readonly title: string;
  readonly detail: string;
}

/** The events of a conversation, newest first. Requests that only wait are left out. */
export function maskingEventsOf(receipts: readonly Receipt[]): readonly MaskingEvent[] {
  return receipts
    .flatMap((receipt, index): MaskingEvent[] => {
      const before = receipts[index - 1];
      return [...refusalOf(receipt), ...epochOf(receipt), ...stillOf(receipt, before)];
    })
    .reverse();
}

function epochOf(receipt: Receipt): MaskingEvent[] {
  const { newMasks, epoch, sent, droppedThinking } = receipt;
  if (newMasks.length === 0) return [];
  const hidden = newMasks.reduce((sum, { tokens }) => sum + tokens, 0);
  const dropped = droppedThinking ? `, ${formatPlural(droppedThinking, 'thinking block')} dropped` : '';
  const detail =
    `${formatPlural(newMasks.length, 'result')} of ${formatTokens(hidden)} tokens masked, ` +
    `${formatTokens(sent.written - (sent.uncached ?? 0))} tokens written to the cache${dropped}.`;
  return [{ receipt, kind: 'epoch', title: `Epoch ${epoch}`, detail }];
}

function refusalOf(receipt: Receipt): MaskingEvent[] {
  const { refused } = receipt;
  if (!refused) return [];
  const detail = `The provider refused the edited request (${refused.status}): ${refused.text}`;
  return [{ receipt, kind: 'refused', title: 'The original was sent', detail }];
}

/** The gateway edits nothing, from here on or in this request. */
function stillOf(receipt: Receipt, before: Receipt | undefined): MaskingEvent[] {
  const { act, because } = receipt;
  if (act !== 'off' && act !== 'pass-through') return [];
  if (before?.act === act && before.because === because) return [];
  return [{ receipt, kind: 'still', title: act === 'off' ? 'Not edited' : 'Passed through', detail: '' }];
}

/** The size of each request. Requests that failed have none: a provider counts and bills nothing for them. */
export function sizePoints(receipts: readonly Receipt[]): readonly SentPoint[] {
  return receipts
    .filter(({ sent, without }) => sent.tokens > 0 || without.tokens > 0)
    .map((receipt) => ({
      ...pointOf(receipt),
      sent: receipt.sent.tokens,
      without: receipt.without.tokens,
    }));
}

/** The cost of the prompts of all requests up to each: in dollars if each has a price, otherwise in tokens at the base price. */
export function costPoints(receipts: readonly Receipt[]): {
  readonly points: readonly SentPoint[];
  readonly isInDollars: boolean;
} {
  const dollars = receipts.flatMap(({ money }) => (money && !('subscription' in money) ? [money] : []));
  const isInDollars = dollars.length === receipts.length;
  const costs: readonly Cost[] = isInDollars ? dollars : receipts.map(({ cost }) => cost);
  let [sent, without] = [0, 0];
  const points = receipts.map((receipt, i) => {
    sent += costs[i]?.sent ?? 0;
    without += costs[i]?.without ?? 0;
    return { ...pointOf(receipt), sent, without };
  });
  return { points, isInDollars };
}

function pointOf({ request, newMasks, epoch, because }: Receipt): Omit<SentPoint, 'sent' | 'without'> {
  const isEpoch = newMasks.length > 0;
  const note = isEpoch ? `epoch ${epoch}: ${formatPlural(newMasks.length, 'result')} masked` : because;
  return { request, isEpoch, note: note.length > 70 ? `${note.slice(0, 69)}…` : note };
}

/** The request from which on a result was masked, by its key. */
export function firstRequests(
  receipts: readonly Receipt[],
  keyOf: (mask: Mask) => string,
): ReadonlyMap<string, number> {
  return new Map(
    receipts.toReversed().flatMap(({ newMasks, request }) => newMasks.map((mask) => [keyOf(mask), request])),
  );
}

/** A text cut where it matches, so that the matches can be shown as such. Capital letters do not matter. */
export function matchesIn(
  text: string,
  query: string,
): readonly { readonly text: string; readonly isMatch: boolean }[] {
  if (query === '') return [{ text, isMatch: false }];
  const pattern = new RegExp(`(${query.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')})`, 'iu');
  return text
    .split(pattern)
    .map((part, index) => ({ text: part, isMatch: index % 2 === 1 }))
    .filter((part) => part.text !== '');
}

/** The lines around a line. */
export const linesAround = (line: number): { readonly from: number; readonly to: number } => ({
  from: Math.max(1, line - 8),
  to: line + 8,
});

/** The agent's session whose texts are kept under a name in the store. */
export const sessionIn = (session: string | undefined): string | undefined =>
  session?.startsWith('g-') ? session.slice(2) : undefined;

/** The title of a conversation, or its id if the title is empty. */
export const titleOf = ({ title, id }: Pick<ConversationSummary, 'title' | 'id'>): string =>
  title.trim() || `Conversation ${id.slice(0, 8)}`;

export const isHandle = (text: string): boolean => /^p_[a-z0-9]{26}$/.test(text);

/** The gateway's address for an agent. From other machines it contains the token. */
export function agentAddress(page: string, token: string): string {
  const { hostname, href } = new URL(page);
  const gateway = href.replace(/[?#].*$/s, '').replace(/\/_palimpsest\/.*$/, '');
  const isLoopback = /^(?:localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname);
  return isLoopback ? gateway : `${gateway}/as/${token}`;
}
