import type { MaskedResult, Schedule } from '../../src/lab/replay-result.ts';
import { Choice } from '../components/choice.tsx';
import { ContextPlot, requestDomain } from '../components/context-plot.tsx';
import { EpochsPlot } from '../components/epochs-plot.tsx';
import { MaskedLine } from '../components/masked-line.tsx';
import { MaskedResults } from '../components/masked-results.tsx';
import { Panel } from '../components/panel.tsx';
import { PolicyLegend } from '../components/policy-legend.tsx';
import { formatPlural, formatTokens } from '../format.ts';
import { maskCount, schedulesOf } from './model.ts';
import type { View } from './view.ts';

/** The chosen run, request by request. */
export function OneRun(view: View) {
  const { page, names, colours, choice, choose } = view;
  const run = page.result.runs[choice.run];
  const schedules = schedulesOf(page, choice);
  const sizes = mapValues(schedules, (schedule) => schedule.sizes);
  const epochs = mapValues(schedules, (schedule) => schedule.epochs);
  const missing =
    schedules.size === 0 &&
    `The page holds the requests of ${formatPlural(page.details.length, 'run')}, and not of this one.`;
  const shown = new Set([choice.run, ...page.details.map((detail) => detail.run)]);
  const name = names[choice.run] ?? '';
  return (
    <section aria-labelledby="one-run">
      <h2 id="one-run">One run</h2>
      <div class="run-head">
        <Choice
          label="Run"
          value={choice.run}
          options={names.map((text, value) => ({ value, text })).filter(({ value }) => shown.has(value))}
          onChoose={(index) => choose({ run: index })}
        />
        {run && (
          <p class="note">
            <span class="path">{run.file}</span>
            <br />
            {run.format}, {formatPlural(run.turns, 'turn')}, {formatTokens(run.tokens)} tokens
          </p>
        )}
      </div>
      <Panel title="Context size" note="Tokens in each request. The thick line is the chosen policy." empty={missing}>
        <PolicyLegend
          policies={[...schedules.keys()]}
          colours={colours}
          chosen={choice.policy}
          onChoose={(policy) => choose({ policy })}
        />
        <ContextPlot
          label={`Context size of ${name} by policy`}
          sizes={sizes}
          colours={colours}
          chosen={choice.policy}
        />
      </Panel>
      <Panel
        title="Epochs"
        note="A stroke for each request that changed earlier messages: everything after the change is cached again."
        empty={missing}
      >
        <EpochsPlot
          label={`Epochs of ${name} by policy`}
          epochs={epochs}
          domain={requestDomain(sizes)}
          colours={colours}
        />
      </Panel>
      <Masked {...view} schedule={schedules.get(choice.policy)} />
    </section>
  );
}

function Masked({ page, choice, schedule }: View & { readonly schedule: Schedule | undefined }) {
  const { run, policy, price } = choice;
  const masked = schedule?.masked ?? [];
  const empty = schedule ? `${policy} masks nothing in this run.` : 'The page was written without them.';
  const all = maskCount(page, choice) ?? 0;
  const count =
    all > masked.length ? `the first ${masked.length} of ${all} results` : formatPlural(masked.length, 'result');
  return (
    <Panel
      title="Masked results"
      note={masked.length > 0 && `With ${policy}: ${count}. Open one to read what it hides.`}
      empty={masked.length === 0 && empty}
    >
      <MaskedResults key={`${run} ${policy} ${price}`} lines={masked.map(maskedLine)} />
    </Panel>
  );
}

const maskedLine = ({ request, text, ...result }: MaskedResult, index: number) => (
  <MaskedLine
    key={index}
    {...result}
    request={request + 1}
    title="Original, its beginning"
    original={() => (text === '' ? <p class="empty">Empty.</p> : <pre>{text}</pre>)}
  />
);

function mapValues<From, To>(map: ReadonlyMap<string, From>, to: (value: From) => To): ReadonlyMap<string, To> {
  return new Map([...map].map(([key, value]) => [key, to(value)]));
}
