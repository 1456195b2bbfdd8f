import * as Plot from '@observablehq/plot';
import { formatChange } from '../format.ts';
import { Figure } from './figure.tsx';
import { colourOf } from './policy-colours.ts';
import { policyRows } from './policy-rows.ts';

export interface RunSaving {
  readonly policy: string;
  /** Index of the run. */
  readonly run: number;
  readonly name: string;
  readonly turns: number;
  readonly change: number;
}

interface SavingsPlotProps {
  readonly label: string;
  readonly policies: readonly string[];
  readonly savings: readonly RunSaving[];
  readonly medians: readonly { readonly policy: string; readonly change: number }[];
  readonly colours: ReadonlyMap<string, string>;
  readonly chosenRun: number;
  readonly onChoose: (run: number) => void;
}

/** A dot for each run and policy; a click chooses the run. */
export function SavingsPlot({ label, policies, savings, medians, colours, chosenRun, onChoose }: SavingsPlotProps) {
  const draw = (width: number): Plot.PlotOptions => {
    const rows = policyRows({ policies, width, bandHeight: 26 });
    const ticks = Math.min(8, (width - rows.options.marginLeft) / 90);
    const at = {
      x: ({ change }: RunSaving) => change,
      y: ({ policy, run }: RunSaving) => rows.y(policy, spread(run)),
    };
    const colour = ({ policy }: { readonly policy: string }) => colourOf(colours, policy);
    return {
      ...rows.options,
      x: { nice: true, label: null },
      marks: [
        Plot.gridX({ ticks }),
        Plot.axisX({
          ticks,
          tickFormat: formatChange,
          tickSize: 0,
          label: 'change of cost of a run',
          labelArrow: 'none',
        }),
        Plot.ruleX([0], { stroke: 'var(--muted)' }),
        Plot.dot(savings, {
          ...at,
          fill: colour,
          fillOpacity: 0.55,
          r: savings.length > 2000 ? 2 : 3.2,
          ariaLabel: ({ name }: RunSaving) => name,
        }),
        Plot.ruleX(medians, {
          x: 'change',
          y1: ({ policy }: { readonly policy: string }) => rows.y(policy, -0.05),
          y2: ({ policy }: { readonly policy: string }) => rows.y(policy, 1.05),
          stroke: 'currentColor',
          strokeWidth: 2,
          ariaLabel: 'policy',
        }),
        Plot.dot(
          savings.filter(({ run }) => run === chosenRun),
          { ...at, stroke: 'currentColor', strokeWidth: 1.75, r: 5.5 },
        ),
        rows.labels,
        Plot.tip(
          savings,
          Plot.pointer({
            lineHeight: 1.3,
            ...at,
            title: ({ name, policy, change, turns }: RunSaving) =>
              `${name}\n${policy}: ${formatChange(change)}\n${turns} turns`,
          }),
        ),
      ],
    };
  };
  return <Figure label={label} draw={draw} onPick={(datum) => onChoose((datum as RunSaving).run)} />;
}

/** The position of a run in the band: neighbours far apart, and the same height in every row and at every visit. */
const spread = (run: number): number => 0.08 + 0.84 * (((run + 1) * 0.618034) % 1);
