import type { Totals } from '../../src/gateway/receipts/receipt.ts';
import { Change } from '../components/change.tsx';
import { figuresOf } from './model.ts';

/** The numbers since the gateway started, each with its denominator. */
export function Figures({ totals }: { readonly totals: Totals }) {
  return (
    <section class="figures" aria-label="Since the gateway started">
      {figuresOf(totals).map((figure) => (
        <div key={figure.name} class="figure-tile">
          <h2>{figure.name}</h2>
          <p class="figure-value">{'change' in figure ? <Change share={figure.change} /> : figure.value}</p>
          <p class="figure-of">{figure.of}</p>
        </div>
      ))}
    </section>
  );
}
