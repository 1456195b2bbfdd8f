import { useState } from 'preact/hooks';
import type { Receipt } from '../../src/gateway/receipts/receipt.ts';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { type Turning, turningsOf } from './model.ts';

const AT_FIRST = 6;

/** The epochs with their reasons, and whatever kept the gateway from one. */
export function Turnings({ receipts }: { readonly receipts: readonly Receipt[] }) {
  const [isWhole, setIsWhole] = useState(false);
  const turnings = turningsOf(receipts);
  const shown = isWhole ? turnings : turnings.slice(0, AT_FIRST);
  return (
    <Panel
      title="Epochs"
      note={
        turnings.length > 0 &&
        'An epoch is one round of masking. The provider has to cache everything behind the first mask again, so many results are masked at once. Between epochs nothing changes that was sent, and the cache holds.'
      }
      empty={turnings.length === 0 && 'None yet: every request extended the one before.'}
    >
      <ol class="turnings">
        {shown.map((turning) => (
          <Line key={`${turning.receipt.id} ${turning.kind}`} {...turning} />
        ))}
      </ol>
      {turnings.length > shown.length && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          Show all {turnings.length}
        </button>
      )}
    </Panel>
  );
}

function Line({ receipt, kind, title, detail }: Turning) {
  return (
    <li class={`turning is-${kind}`}>
      <p class="turning-head">
        <strong>{title}</strong>
        <span>
          request {receipt.request}, <Moment time={receipt.time} />
        </span>
      </p>
      <p>{receipt.because}</p>
      {detail !== '' && <p class="note">{detail}</p>}
    </li>
  );
}
