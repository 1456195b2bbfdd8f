import { useMemo, useState } from 'preact/hooks';
import { aboutLogs, dollarSentence, nextSentence } from '../../src/lab/about-logs.ts';
import { aboutPolicies } from '../../src/lab/about-policies.ts';
import { aboutWords } from '../../src/lab/about-words.ts';
import type { ReplayPage, ReplayResult } from '../../src/lab/replay-result.ts';
import { Choice } from '../components/choice.tsx';
import { policyColours } from '../components/policy-colours.ts';
import { formatPlural } from '../format.ts';
import { AllRuns } from './all-runs.tsx';
import { firstChoice, headlineOf, priceName, runNames } from './model.ts';
import { OneRun } from './one-run.tsx';

/** The whole page. It holds the reader's choices. */
export function Report({ page }: { readonly page: ReplayPage }) {
  const { result } = page;
  const [choice, setChoice] = useState(() => firstChoice(page));
  const colours = useMemo(() => policyColours(result.policies), [result]);
  const names = useMemo(() => runNames(result.runs), [result]);
  const { sentence, detail } = headlineOf(result, choice.price);
  const choose = (part: Partial<typeof choice>): void => setChoice({ ...choice, ...part });
  const shared = { page, names, colours, choice, choose };
  return (
    <>
      <header>
        <p class="product">Palimpsest replay</p>
        <h1 aria-live="polite">{sentence}</h1>
        <p class="lead">{detail}</p>
        <About result={result} />
      </header>
      {result.runs.length > 0 && (
        <>
          <nav class="bar" aria-label="What is shown">
            <Choice
              label="Price list"
              value={choice.price}
              options={result.prices.map((price) => ({ value: price, text: priceName(price) }))}
              onChoose={(price) => choose({ price })}
            />
            <Choice
              label="Policy"
              value={choice.policy}
              options={result.policies.map((policy) => ({ value: policy, text: policy }))}
              onChoose={(policy) => choose({ policy })}
            />
          </nav>
          <main>
            <AllRuns {...shared} />
            <OneRun {...shared} />
          </main>
        </>
      )}
      <footer>
        <Skipped skipped={result.skipped} />
        <Words result={result} />
        <p class="note">
          This file holds the paths of the logs and the beginnings of tool outputs from them. They may be private: read
          it before you share it.
        </p>
        <p class="note">
          Cost is that of input, in tokens at the base price: what a provider has cached counts at its price for
          reading, all behind the first change at its price for writing. The agents in the logs saw everything; what
          they would have done with less is not known. Misses count calls that quote text which only a masked result
          held at that time; with recalls, each of them costs one more request and the text that it brings back.
        </p>
      </footer>
    </>
  );
}

/** Explains the special words of the page. */
function Words({ result }: { readonly result: ReplayResult }) {
  return (
    <section aria-labelledby="words">
      <h2 id="words">Words</h2>
      <dl class="words">
        {aboutWords(result).map(({ word, meaning }) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The notes on the logs, the dollars and the next step. */
function About({ result }: { readonly result: ReplayResult }) {
  const sentences = [
    ...(result.dollars ? [dollarSentence(result.dollars)] : []),
    ...aboutPolicies(result),
    ...aboutLogs(result),
  ];
  const next = nextSentence(result);
  return (
    <>
      {sentences.map((sentence) => (
        <p key={sentence} class="note">
          {sentence}
        </p>
      ))}
      {next !== '' && <p class="lead next">{next}</p>}
    </>
  );
}

function Skipped({ skipped }: Pick<ReplayResult, 'skipped'>) {
  if (skipped.length === 0) return null;
  return (
    <details class="skipped">
      <summary>{formatPlural(skipped.length, 'file')} skipped</summary>
      <ul>
        {skipped.map(({ file, reason }) => (
          <li key={file}>
            <code>{file}</code> {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}
