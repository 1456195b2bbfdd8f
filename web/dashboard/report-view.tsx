import { useState } from 'preact/hooks';
import { Choice } from '../components/choice.tsx';
import { Comparison, Headline } from '../components/comparison.tsx';
import type { GatewayApi } from './gateway-api.ts';
import { useAnswer, useNow } from './hooks.ts';

const RANGES = [
  { value: '', text: 'all that is recorded' },
  { value: '30d', text: 'last 30 days' },
  { value: '7d', text: 'last 7 days' },
  { value: '24h', text: 'last 24 hours' },
] as const;

const REFRESH_MS = 60_000;

/** The report: the saving and signs of harm, from the records in the store. */
export function ReportView({ api }: { readonly api: GatewayApi }) {
  const [since, setSince] = useState<(typeof RANGES)[number]['value']>('');
  const minute = Math.floor(useNow(REFRESH_MS) / REFRESH_MS);
  const { value: report, failure } = useAnswer(`${since} ${minute}`, (signal) => api.report(since, signal));
  return (
    <section class="comparison" aria-label="Report">
      <Choice label="Time" value={since} options={RANGES} onChoose={setSince} />
      {failure && (
        <p class="alarm" role="alert">
          {failure}
        </p>
      )}
      {report && <Headline report={report} as="h2" />}
      {report && <Comparison report={report} />}
    </section>
  );
}
