import type { Interval } from '../../src/report/interval.ts';
import type { HarmMeasure, Report } from '../../src/report/report.ts';
import {
  ARM_TITLES,
  cost,
  costRange,
  damagedWords,
  leftOutWords,
  lookWords,
  measureChangeWords,
  measureWords,
  offWords,
  percent,
  SAVING_TITLES,
  savingWords,
  unpricedWords,
  windowWords,
  wouldShow,
} from '../../src/report/words.ts';
import { counted, grouped } from '../../src/text.ts';
import { IntervalBar } from './interval-bar.tsx';
import { Panel } from './panel.tsx';

/** The report below its sentence: costs of the arms, the saving, signs of harm, and how far to trust it. */
export function Comparison({ report }: { readonly report: Report }) {
  return (
    <>
      {report.arms.length > 0 && <Arms report={report} />}
      {report.savings && <SavingsPanel report={report} savings={report.savings} />}
      {report.savings && <HarmPanel report={report} />}
      <Trust report={report} />
    </>
  );
}

/** The sentence on top, and the details beneath it. */
export function Headline({ report: { headline }, as: Title }: { readonly report: Report; readonly as: 'h1' | 'h2' }) {
  return (
    <>
      <Title class="verdict">{together(headline.sentence)}</Title>
      <ul class="lead">
        {headline.details.map((detail) => (
          <li key={detail}>{together(detail)}</li>
        ))}
      </ul>
    </>
  );
}

/** A number and its sign stay on one line. */
const together = (text: string): string => text.replaceAll(' %', '\u00a0%');

function Arms({ report }: { readonly report: Report }) {
  const { arms, unit, covers } = report;
  const dates = covers ? ` Sessions from ${dayOf(covers.from)} to ${dayOf(covers.to)} (UTC).` : '';
  return (
    <Panel
      title="Input cost, as the provider billed it"
      note={`A session is one run of an agent.${dates} ${unpricedWords(report)} ${windowWords(report)}`}
    >
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Sessions</th>
              <th scope="col" class="number">
                Number
              </th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col" class="number">
                Cost
              </th>
              <th scope="col" class="number">
                Per session
              </th>
              <th scope="col" class="number">
                Per request
              </th>
              <th scope="col" class="number">
                Saving by estimate
              </th>
            </tr>
          </thead>
          <tbody>
            {arms.map((arm) => (
              <tr key={arm.arm}>
                <th scope="row">{ARM_TITLES[arm.arm]}</th>
                <td class="number">{grouped(arm.sessions)}</td>
                <td class="number">{grouped(arm.requests)}</td>
                <td class="number">{cost(arm.cost, unit)}</td>
                <Amount {...arm.costPerSession} unit={unit} />
                <Amount {...arm.costPerRequest} unit={unit} />
                <td class="number">{arm.estimatedSaving === undefined ? '–' : percent(arm.estimatedSaving)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

interface AmountProps {
  readonly value: number;
  readonly interval?: Interval;
  readonly unit: Report['unit'];
}

function Amount({ value, interval, unit }: AmountProps) {
  return (
    <td class="number">
      {cost(value, unit)}
      {interval && <span class="range">{costRange(interval, unit)}</span>}
    </td>
  );
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const SAVING_NOTES: Readonly<Record<keyof typeof SAVING_TITLES, string>> = {
  sameWork: 'Each session against an estimate of its cost without masks. Held-out sessions correct the estimate.',
  perSession: 'Counts sessions that masking made longer or shorter. It varies most.',
  perRequest: 'Longer sessions have larger requests, so this one alone can mislead.',
};

function SavingsPanel({
  report,
  savings,
}: {
  readonly report: Report;
  readonly savings: NonNullable<Report['savings']>;
}) {
  const names = ['sameWork', 'perSession', 'perRequest'] as const;
  return (
    <Panel
      title="Saved input cost"
      note={`The dot is the best guess, the bar what is possible: the truth is in it in ${percent(1 - report.alpha)} of reports, ${lookWords(report.range)}. Right of the line is a saving.`}
    >
      <div class="scroll">
        <table class="intervals">
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">
                  {SAVING_TITLES[name]}
                  <span class="range">{SAVING_NOTES[name]}</span>
                </th>
                <td>
                  {savings[name].interval && (
                    <IntervalBar
                      interval={savings[name].interval}
                      reach={1}
                      label={savingWords(savings[name])}
                      isMoreGood
                    />
                  )}
                </td>
                <td class="number">{savingWords(savings[name])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function HarmPanel({ report: { harm, unit, alpha } }: { readonly report: Report }) {
  return (
    <Panel
      title="Signs of harm"
      note={`More is worse. All ${harm.compared} bars hold together in ${percent(1 - alpha)} of reports, so a bar wholly right of the line is a sign of harm. “Would show” is the smallest increase that would be seen four times out of five.`}
    >
      <div class="scroll">
        <table class="intervals">
          <thead>
            <tr>
              <th scope="col">Sign</th>
              <th scope="col" class="number">
                With masking
              </th>
              <th scope="col" class="number">
                Held out
              </th>
              <th scope="col">Change</th>
              <th scope="col" class="number" />
              <th scope="col" class="number">
                Would show
              </th>
            </tr>
          </thead>
          <tbody>
            {harm.measures.map((measure) => (
              <tr key={measure.name}>
                <th scope="row">{measure.title}</th>
                <td class="number">{measureWords(measure, measure.treated, unit)}</td>
                <td class="number">{measureWords(measure, measure.heldOut, unit)}</td>
                <td>{measure.change && <HarmBar measure={measure} change={measure.change} />}</td>
                <td class="number">{measureChangeWords(measure)}</td>
                <td class="number">{wouldShow(measure)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** Shares change by points, other measures relatively. */
function HarmBar({ measure, change }: { readonly measure: HarmMeasure; readonly change: Interval }) {
  const reach = measure.kind === 'share' ? 0.2 : 1;
  const label = `${measure.title}: ${measureChangeWords(measure)}`;
  return <IntervalBar interval={change} reach={reach} label={label} isMoreGood={false} />;
}

function Trust({ report: { estimate, savings, leftOut, damagedRecords = 0 } }: { readonly report: Report }) {
  const left = leftOutWords(leftOut);
  if (!(estimate && savings) && left.length === 0 && damagedRecords === 0) return null;
  return (
    <Panel title="How far to trust it">
      {estimate && savings && (
        <p>
          The gateway estimates what a session would have cost without masks. In{' '}
          {counted(estimate.sessions, 'held-out session')} nothing was masked, so the true cost is known: the estimate
          is {offWords(estimate)}. The saving for the same work corrects that. A typical session is off by another{' '}
          {percent(estimate.typicalError)}.
        </p>
      )}
      {left.length > 0 && <p>Left out: {left.join('; ')}.</p>}
      {damagedRecords > 0 && <p>{damagedWords(damagedRecords)}</p>}
    </Panel>
  );
}
