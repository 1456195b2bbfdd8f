import type { Totals } from '../../gateway/receipts/receipt.ts';
import { formatDollars, whatIsPriced } from '../../money/index.ts';
import { percent } from '../../report/words.ts';
import { counted, grouped } from '../../text.ts';
import { DEFAULT_TENANT } from '../store/stores.ts';

interface Place {
  readonly store: string;
  readonly tenant: string;
  /** Whether it is the default place, which commands find without --store. */
  readonly isUsual: boolean;
}

/** The receipt of a run, for the person who started it. */
export function showReceipt(totals: Totals, { store, tenant, isUsual }: Place): string {
  const { requests, conversations, tokensSent, cached, masked } = totals;
  if (requests === 0) return NO_REQUEST;
  const where = `${isUsual ? '' : ` --store ${store}`}${tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`}`;
  return `
palimpsest: ${counted(requests, 'request')} in ${counted(conversations, 'conversation')}
${showFailed(totals)}  sent      ${counted(tokensSent, 'input token')}, ${grouped(Math.round(cached))} of them read from the provider's cache
${showSpent(totals)}${showWindow(totals)}  masked    ${masked === 0 ? 'nothing' : `${counted(masked, 'tool result')}, kept in ${store}`}${showUnsent(totals)}
  saved     ${showSaved(totals)}
  later     ${masked === 0 ? '' : `npx palimpsest recall <handle>${where}, `}npx palimpsest report${where}
`;
}

/** The agent shows the provider's own words; here they only explain why there are no figures. */
const showFailed = ({ failed, requests }: Totals): string =>
  failed === 0
    ? ''
    : `  failed    ${failed === requests ? 'all of them' : counted(failed, 'request')}: no answer from the provider, or an error\n`;

/** Requests of a session that is held out or in shadow. */
const showUnsent = ({ unsent: { requests } }: Totals): string =>
  requests === 0 ? '' : `; ${counted(requests, 'request')} sent unchanged, held out or in shadow`;

/** Input and output, if there is a price. */
function showSpent({ money }: Totals): string {
  const spent = whatIsPriced(money);
  return spent === '' ? '' : `  spent     ${spent}\n`;
}

/** A token of a subscription has no price: there, the room in the context window counts. */
function showWindow({ money: { window } }: Totals): string {
  if (!window) return '';
  const { sent, without } = window;
  const unmasked = without > sent ? `, ${percent(without)} without masks (estimate)` : '';
  return `  window    the largest request took ${percent(sent)} of the context window${unmasked}\n`;
}

const NO_REQUEST = `
palimpsest: no request came through the gateway. If the agent did ask a model, its own settings hold another address:
see docs/agents/README.md in the package.
`;

/** The estimate of the receipts: the cost without the gateway is never billed. */
function showSaved(totals: Totals): string {
  const { cost, tokensIn, tokensSent, money, unsent, failed, requests } = totals;
  const { without, sent } = cost;
  const { billed, estimated } = money;
  const saved = without - sent;
  const share = `${Math.abs((saved / without) * 100).toFixed(saved / without < 0.1 ? 1 : 0)} %`;
  const fewer = `${grouped(Math.round(tokensIn - tokensSent))} tokens fewer were sent`;
  if (Math.abs(saved) < 0.5 && unsent.requests > 0)
    return `nothing: masks would have left out ${counted(Math.round(unsent.tokens), 'input token')} (estimate)`;
  if (failed === requests) return 'nothing: no request was answered';
  if (Math.abs(saved) < 0.5) return 'nothing yet: masking pays in longer sessions';
  if (saved < 0)
    return `nothing yet: ${fewer}, but input cost ${share} more, since the cache was written again (estimate)`;
  const dollars = billed.without + estimated.without - billed.sent - estimated.sent;
  const worth = dollars > 0 ? `${formatDollars(dollars)}, ` : '';
  return `${worth}${share} of the cost of input: ${fewer} (estimate)`;
}
