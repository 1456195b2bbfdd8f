import { useState } from 'preact/hooks';
import type { Receipt } from '../../src/gateway/receipts/receipt.ts';
import { Moment } from '../components/moment.tsx';
import { Panel } from '../components/panel.tsx';
import { type MaskingEvent, maskingEventsOf } from './model.ts';

const AT_FIRST = 6;

/** The epochs with their reasons, and everything that prevented one. */
export function MaskingEvents({ receipts }: { readonly receipts: readonly Receipt[] }) {
  const [isWhole, setIsWhole] = useState(false);
  const events = maskingEventsOf(receipts);
  const isSentUnchanged = receipts.some(({ unsent }) => unsent);
  const shown = isWhole ? events : events.slice(0, AT_FIRST);
  return (
    <Panel
      title="Epochs"
      note={
        events.length > 0 &&
        'An epoch is one round of masking. The provider must cache everything after the first mask again, so the gateway masks many results at once. Between epochs, messages that were sent do not change, and the cache holds.'
      }
      empty={
        events.length === 0 &&
        (isSentUnchanged
          ? 'None: every request was sent unchanged.'
          : 'None yet: every request extended the one before.')
      }
    >
      <ol class="masking-events">
        {shown.map((event) => (
          <Line key={`${event.receipt.id} ${event.kind}`} {...event} />
        ))}
      </ol>
      {events.length > shown.length && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          Show all {events.length}
        </button>
      )}
    </Panel>
  );
}

function Line({ receipt, kind, title, detail }: MaskingEvent) {
  return (
    <li class={`masking-event is-${kind}`}>
      <p class="masking-event-head">
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
