import { ColouredName } from './coloured-name.tsx';
import { colourOf } from './policy-colours.ts';

interface PolicyLegendProps {
  readonly policies: readonly string[];
  readonly colours: ReadonlyMap<string, string>;
  readonly chosen: string;
  readonly onChoose: (policy: string) => void;
}

/** Shows the colour of each policy, and lets the reader choose one. */
export function PolicyLegend({ policies, colours, chosen, onChoose }: PolicyLegendProps) {
  return (
    <fieldset class="legend" aria-label="Policy">
      {policies.map((policy) => (
        <button key={policy} type="button" aria-pressed={policy === chosen} onClick={() => onChoose(policy)}>
          <ColouredName name={policy} colour={colourOf(colours, policy)} />
        </button>
      ))}
    </fieldset>
  );
}
