import { colourOf } from './policy-colours.ts';
import { PolicyName } from './policy-name.tsx';

interface PolicyLegendProps {
  readonly policies: readonly string[];
  readonly colours: ReadonlyMap<string, string>;
  readonly chosen: string;
  readonly onChoose: (policy: string) => void;
}

/** Says which colour is which policy, and chooses the one that is looked at. */
export function PolicyLegend({ policies, colours, chosen, onChoose }: PolicyLegendProps) {
  return (
    <fieldset class="legend" aria-label="Policy">
      {policies.map((policy) => (
        <button key={policy} type="button" aria-pressed={policy === chosen} onClick={() => onChoose(policy)}>
          <PolicyName name={policy} colour={colourOf(colours, policy)} />
        </button>
      ))}
    </fieldset>
  );
}
