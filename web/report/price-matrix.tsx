import { NOTHING_MASKED } from '../../src/lab/compare.ts';
import { Change } from '../components/change.tsx';
import { ColouredName } from '../components/coloured-name.tsx';
import { Panel } from '../components/panel.tsx';
import { colourOf } from '../components/policy-colours.ts';
import { priceName } from './model.ts';
import type { View } from './view.ts';

/** The saving of each policy at each price list. */
export function PriceMatrix({ page: { result }, colours, choice, choose }: View) {
  const policies = result.policies.filter((policy) => policy !== NOTHING_MASKED);
  return (
    <Panel
      title="Change of cost by price list"
      note="Against sending everything. Click a price list to choose it."
      empty={policies.length === 0 && 'No policy to compare.'}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section class="scroll" aria-label="Change of cost by policy and price list" tabIndex={0}>
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Policy</th>
              {result.prices.map((price) => (
                <th key={price} scope="col" class="number">
                  <button type="button" aria-pressed={price === choice.price} onClick={() => choose({ price })}>
                    {priceName(price)}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {policies.map((policy) => (
              <tr key={policy} aria-current={policy === choice.policy ? 'true' : undefined}>
                <th scope="row">
                  <ColouredName name={policy} colour={colourOf(colours, policy)} />
                </th>
                {result.prices.map((price) => (
                  <td key={price} class={price === choice.price ? 'number chosen' : 'number'}>
                    <Change share={result.total[policy]?.saving[price]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  );
}
