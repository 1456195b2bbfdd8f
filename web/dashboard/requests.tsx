import type { Receipt } from '../../src/gateway/receipts/receipt.ts';
import type { RequestMoney } from '../../src/money/money-totals.ts';
import { formatDollars, spentOf } from '../../src/money/show-money.ts';
import { Change } from '../components/change.tsx';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { type Column, Table } from '../components/table.tsx';
import { formatMs, formatTokens } from '../format.ts';
import { ActName } from './act-name.tsx';
import { changeOf } from './model.ts';

const number = (title: string, of: (receipt: Receipt) => number, hint?: string): Column<Receipt> => ({
  title,
  isNumber: true,
  cell: (receipt) => formatTokens(of(receipt)),
  sortBy: of,
  ...(hint ? { hint } : {}),
});

const dollars = (title: string, of: (money: RequestMoney) => number, hint: string): Column<Receipt> => {
  const priceOf = ({ money }: Receipt): number | undefined =>
    money && !('subscription' in money) ? of(money) : undefined;
  const cell = (receipt: Receipt): string => {
    const value = priceOf(receipt);
    return value === undefined ? '–' : `${receipt.estimated ? '≈ ' : ''}${formatDollars(value)}`;
  };
  return { title, hint, isNumber: true, cell, sortBy: priceOf };
};

const COLUMNS: readonly Column<Receipt>[] = [
  { title: 'Request', cell: ({ request }) => request, sortBy: ({ request }) => request },
  { title: 'Time', cell: ({ time }) => <Moment time={time} /> },
  { title: 'Did', cell: ({ act, arm }) => <ActName act={act} arm={arm} /> },
  number('Would send', ({ without }) => without.tokens, 'Tokens without the gateway: an estimate'),
  number('Sent', ({ sent }) => sent.tokens, 'Tokens of the prompt that was sent'),
  number('Cached', ({ sent }) => sent.cached, 'Of those sent: read from the provider’s cache'),
  number('Written', ({ sent }) => sent.written, 'Of those sent: not read from the cache'),
  number('Answer', ({ completionTokens }) => completionTokens, 'Tokens of the answer'),
  {
    title: 'Cost',
    hint: 'Of the input, against doing without the gateway',
    isNumber: true,
    cell: ({ cost }) => <Change share={changeOf(cost)} />,
    sortBy: ({ cost }) => changeOf(cost),
  },
  dollars('Spent', spentOf, 'Prompt and answer at the price of the model; ≈ where the provider counted nothing'),
  dollars(
    'Saved',
    ({ without, sent }) => without - sent,
    'On the prompt, against doing without the gateway: an estimate',
  ),
  {
    title: 'Overhead',
    hint: 'The time that the gateway took for itself',
    isNumber: true,
    cell: ({ overheadMs }) => formatMs(overheadMs),
    sortBy: ({ overheadMs }) => overheadMs,
  },
  {
    title: 'Status',
    isNumber: true,
    cell: ({ status, estimated }) => (
      <span title={estimated ? 'The provider counted nothing: the sizes are estimates' : undefined}>
        {status}
        {estimated && ' ≈'}
      </span>
    ),
    sortBy: ({ status }) => status,
  },
  {
    title: 'Id',
    hint: 'As in the log, in spans and in the answer’s header x-palimpsest-request-id',
    cell: ({ requestId }) => <code>{requestId}</code>,
  },
  { title: 'Why', cell: ({ because }) => <span class="why">{because}</span> },
];

/** Every request with its receipt. */
export function Requests({ receipts }: { readonly receipts: readonly Receipt[] }) {
  return (
    <Panel title="Requests" note="The newest first." empty={receipts.length === 0 && 'No request yet.'}>
      <Table label="Requests" columns={COLUMNS} rows={receipts.toReversed()} keyOf={({ id }) => id} atFirst={25} />
    </Panel>
  );
}
