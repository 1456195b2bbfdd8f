import { missRate, NOTHING_MASKED } from '../../src/lab/compare.ts';
import type { PolicyTotal, ReplayResult } from '../../src/lab/replay-result.ts';
import { formatDollars } from '../../src/money/show-money.ts';
import { Change } from '../components/change.tsx';
import { ColouredName } from '../components/coloured-name.tsx';
import { CostPlot } from '../components/cost-plot.tsx';
import { Panel } from '../components/panel.tsx';
import { colourOf } from '../components/policy-colours.ts';
import { SavingsPlot } from '../components/savings-plot.tsx';
import { Table } from '../components/table.tsx';
import { atPrices, formatCount, formatPlural, formatRate, formatShare, formatTokens } from '../format.ts';
import { countsNote, median, savingOf } from './model.ts';
import { PriceMatrix } from './price-matrix.tsx';
import type { View } from './view.ts';

/** More price lists than fit into half the page. */
const MANY_PRICES = 4;

/** With one price list the totals have a row to themselves. */
const isWide = ({ length }: readonly string[]): boolean => length === 1 || length > MANY_PRICES;

export function AllRuns(view: View) {
  const { result } = view.page;
  return (
    <section aria-labelledby="all-runs">
      <h2 id="all-runs">{result.runs.length === 1 ? 'The run' : `All ${formatCount(result.runs.length)} runs`}</h2>
      <div class={isWide(result.prices) ? 'columns wide-tables' : 'columns'}>
        <Costs {...view} />
        <Savings {...view} />
        <Totals {...view} />
        {result.prices.length > 1 && <PriceMatrix {...view} />}
      </div>
      <Runs {...view} />
    </section>
  );
}

function Costs({ page: { result }, colours, choice: { price } }: View) {
  const costs = result.policies.flatMap((policy) => {
    const change = result.total[policy]?.saving[price];
    return typeof change === 'number' ? [{ policy, change }] : [];
  });
  return (
    <Panel
      title="Cost by policy"
      note={`All runs together, ${atPrices(price)}.`}
      empty={costs.length === 0 && 'No costs.'}
    >
      <CostPlot label={`Cost by policy ${atPrices(price)}`} costs={costs} colours={colours} />
    </Panel>
  );
}

function Savings({ page: { result }, names, colours, choice: { price, run: chosenRun }, choose }: View) {
  const policies = result.policies.filter((policy) => policy !== NOTHING_MASKED);
  const savings = policies.flatMap((policy) =>
    result.runs.flatMap((run, index) => {
      const change = savingOf(run, policy, price);
      return change === undefined ? [] : [{ policy, run: index, name: names[index] ?? '', turns: run.turns, change }];
    }),
  );
  const medians = policies.flatMap((policy) => {
    const change = median(savings.filter((saving) => saving.policy === policy).map((saving) => saving.change));
    return change === undefined ? [] : [{ policy, change }];
  });
  return (
    <Panel
      title="Change of cost run by run"
      note="A dot for each run, a stroke at the median; the ringed run is the one shown below. Click a dot to choose its run."
      empty={savings.length === 0 && 'No run to compare: without the policy none, there is nothing to compare with.'}
    >
      <SavingsPlot
        label={`Change of cost of each run by policy ${atPrices(price)}`}
        policies={policies}
        savings={savings}
        medians={medians}
        colours={colours}
        chosenRun={chosenRun}
        onChoose={(run) => choose({ run })}
      />
    </Panel>
  );
}

function Totals({ page: { result }, colours, choice: { price, policy: chosen } }: View) {
  return (
    <Panel
      title="Totals"
      note={`All runs together, ${atPrices(price)}; cost in tokens at the base price.${countsNote(result, price)}`}
    >
      <Table
        label="Totals by policy"
        rows={result.policies}
        keyOf={(policy) => policy}
        isChosen={(policy) => policy === chosen}
        columns={[
          { title: 'Policy', cell: (policy) => <ColouredName name={policy} colour={colourOf(colours, policy)} /> },
          { title: 'Cost', isNumber: true, cell: (policy) => formatTokens(result.total[policy]?.cost[price]) },
          {
            title: 'Change of\u00a0cost',
            hint: 'Against sending everything',
            isNumber: true,
            cell: (policy) => <Change share={result.total[policy]?.saving[price]} />,
          },
          ...(hasAny(result, ({ savingWithRecalls }) => savingWithRecalls)
            ? [
                {
                  title: 'With recalls',
                  hint: 'Change of cost if every miss costs one recall',
                  isNumber: true,
                  cell: (policy: string) => <Change share={result.total[policy]?.savingWithRecalls?.[price]} />,
                },
              ]
            : []),
          ...(hasAny(result, ({ dollars }) => dollars)
            ? [
                {
                  title: 'Dollars',
                  hint: 'Input of the runs whose model has a known price',
                  isNumber: true,
                  cell: (policy: string) => formatKnownDollars(result.total[policy]?.dollars?.[price]),
                },
              ]
            : []),
          {
            title: 'Tokens\u00a0sent',
            isNumber: true,
            cell: (policy) => formatTokens(result.total[policy]?.tokensSent),
          },
          {
            title: 'Misses per\u00a0100\u00a0calls',
            hint: 'Calls that quote text which only a masked result held',
            isNumber: true,
            cell: (policy) => formatRate(missRate(result.runs, policy)),
          },
        ]}
      />
    </Panel>
  );
}

const hasAny = ({ total }: ReplayResult, of: (policy: PolicyTotal) => unknown): boolean =>
  Object.values(total).some((policy) => of(policy) !== undefined);

const formatKnownDollars = (dollars: number | undefined): string =>
  dollars === undefined ? '–' : formatDollars(dollars);

function Runs({ page: { result }, names, choice: { price, policy, run: chosenRun }, choose }: View) {
  const rows = result.runs.map((run, index) => {
    const found = run.results[policy];
    return { run, index, name: names[index] ?? '', found, saving: savingOf(run, policy, price) };
  });
  type Row = (typeof rows)[number];
  const misses = ({ run }: Row) => missRate([run], policy);
  return (
    <Panel
      title="Runs"
      note={`Policy ${policy}, ${atPrices(price)}. ${formatPlural(rows.length, 'run')}; click one to see it below.${countsNote(result, price)}`}
    >
      <Table
        label="Runs"
        rows={rows}
        keyOf={({ index }) => index}
        isChosen={({ index }) => index === chosenRun}
        onChoose={({ index }) => choose({ run: index })}
        columns={[
          { title: 'Run', cell: (row: Row) => <RunButton {...row} />, sortBy: ({ name }) => name },
          { title: 'Format', cell: ({ run }) => run.format, sortBy: ({ run }) => run.format },
          { title: 'Turns', isNumber: true, cell: ({ run }) => formatCount(run.turns), sortBy: ({ run }) => run.turns },
          {
            title: 'Tokens',
            isNumber: true,
            cell: ({ run }) => formatTokens(run.tokens),
            sortBy: ({ run }) => run.tokens,
          },
          {
            title: 'Results',
            hint: 'The share of tool results in the text of the run',
            isNumber: true,
            cell: ({ run }) => formatShare(run.observationShare),
            sortBy: ({ run }) => run.observationShare,
          },
          {
            title: 'Change of\u00a0cost',
            hint: 'Against sending everything',
            isNumber: true,
            cell: ({ saving }) => <Change share={saving} />,
            sortBy: ({ saving }) => saving,
          },
          {
            title: 'Peak',
            hint: 'The largest request',
            isNumber: true,
            cell: ({ found }) => formatTokens(found?.peakTokens),
            sortBy: ({ found }) => found?.peakTokens,
          },
          {
            title: 'Masked',
            isNumber: true,
            cell: ({ found }) => formatCount(found?.masks),
            sortBy: ({ found }) => found?.masks,
          },
          {
            title: 'Epochs',
            isNumber: true,
            cell: ({ found }) => formatCount(found?.epochs),
            sortBy: ({ found }) => found?.epochs,
          },
          {
            title: 'Misses',
            hint: 'In 100 calls',
            isNumber: true,
            cell: (row) => formatRate(misses(row)),
            sortBy: misses,
          },
          { title: 'Model', cell: ({ run }) => run.model ?? '–', sortBy: ({ run }) => run.model ?? '' },
        ]}
      />
    </Panel>
  );
}

/** The row handles clicks; the button is for the keyboard and names the row. */
function RunButton({ run, name }: { readonly run: { readonly file: string }; readonly name: string }) {
  const end = name.lastIndexOf('/') + 1;
  return (
    <button type="button" class="link" title={run.file}>
      <span class="folder">{name.slice(0, end)}</span>
      {name.slice(end)}
    </button>
  );
}
