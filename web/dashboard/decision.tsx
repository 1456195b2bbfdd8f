import type { Receipt } from '../../src/gateway/receipts/receipt.ts';
import { ActName } from './act-name.tsx';

/** The decision at the last request and its reason. While the gateway waits, a bar shows how close it is to masking. */
export function Decision({ receipt }: { readonly receipt: Receipt | undefined }) {
  if (!receipt) return null;
  const { act, arm, because, rent, price, request } = receipt;
  return (
    <section class="panel decision" aria-label="Last decision">
      <p>
        <ActName act={act} arm={arm} /> <span class="decision-request">request {request}</span> {because}
      </p>
      {act === 'wait' && rent !== undefined && price !== undefined && price > 0 && (
        <Progress rent={rent} price={price} />
      )}
    </section>
  );
}

/** The reason above has the same figures as text. */
function Progress({ rent, price }: { readonly rent: number; readonly price: number }) {
  return (
    <div class="progress">
      <div class="progress-bar" aria-hidden="true">
        <div style={{ width: `${Math.min(100, (100 * rent) / price)}%` }} />
      </div>
    </div>
  );
}
