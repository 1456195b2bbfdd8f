import * as Plot from '@observablehq/plot';
import { formatChange, formatShare } from '../format.ts';
import { Figure } from './figure.tsx';
import { colourOf } from './policy-colours.ts';
import { policyRows } from './policy-rows.ts';

export interface PolicyCost {
  readonly policy: string;
  /** Against sending everything: -0.31 is 31 % less. */
  readonly change: number;
}

interface CostPlotProps {
  readonly label: string;
  readonly costs: readonly PolicyCost[];
  readonly colours: ReadonlyMap<string, string>;
}

/** A bar for each policy, as a share of what sending everything costs. */
export function CostPlot({ label, costs, colours }: CostPlotProps) {
  const draw = (width: number): Plot.PlotOptions => {
    const rows = policyRows({ policies: costs.map(({ policy }) => policy), width, bandHeight: 20 });
    const ticks = Math.min(8, (width - rows.options.marginLeft) / 80);
    const most = Math.max(1, ...costs.map(({ change }) => 1 + change));
    return {
      ...rows.options,
      marginRight: 56,
      x: { domain: [0, most], tickFormat: formatShare, ticks, label: null, nice: false },
      marks: [
        Plot.gridX({ ticks }),
        Plot.axisX({
          tickFormat: formatShare,
          ticks,
          tickSize: 0,
          label: 'of the cost of sending everything',
          labelArrow: 'none',
        }),
        Plot.rect(costs, {
          x1: 0,
          x2: ({ change }: PolicyCost) => 1 + change,
          y1: ({ policy }: PolicyCost) => rows.y(policy, 0),
          y2: ({ policy }: PolicyCost) => rows.y(policy, 1),
          fill: ({ policy }: PolicyCost) => colourOf(colours, policy),
          rx: 2,
          ariaLabel: ({ policy }: PolicyCost) => policy,
        }),
        Plot.ruleX([1], { stroke: 'var(--muted)', strokeDasharray: '3 3' }),
        Plot.text(costs, {
          x: ({ change }: PolicyCost) => 1 + change,
          y: ({ policy }: PolicyCost) => rows.y(policy, 0.5),
          text: ({ change }: PolicyCost) => formatChange(change),
          textAnchor: 'start',
          dx: 6,
          fontWeight: 600,
          stroke: 'var(--surface)',
          strokeWidth: 4,
          fill: 'currentColor',
        }),
        rows.labels,
      ],
    };
  };
  return <Figure label={label} draw={draw} />;
}
