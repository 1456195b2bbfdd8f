import * as Plot from '@observablehq/plot';
import { formatPlural } from '../format.ts';
import { AXIS_WIDTH, requestAxis } from './context-plot.tsx';
import { Figure } from './figure.tsx';
import { colourOf } from './policy-colours.ts';
import { policyRows } from './policy-rows.ts';

interface EpochsPlotProps {
  readonly label: string;
  /** The requests, counted from 0, that changed earlier messages, by policy. */
  readonly epochs: ReadonlyMap<string, readonly number[]>;
  /** The first request and the last, counted from 1. */
  readonly domain: readonly [number, number];
  readonly colours: ReadonlyMap<string, string>;
}

interface Epoch {
  readonly policy: string;
  readonly request: number;
}

/** A stroke for each request that changed earlier messages, and so broke the cache. */
export function EpochsPlot({ label, epochs, domain, colours }: EpochsPlotProps) {
  const marks: Epoch[] = [...epochs].flatMap(([policy, list]) =>
    list.map((request) => ({ policy, request: request + 1 })),
  );
  const draw = (width: number): Plot.PlotOptions => {
    const rows = policyRows({ policies: [...epochs.keys()], width, bandHeight: 16, leastMargin: AXIS_WIDTH });
    const span = (domain[1] - domain[0]) / Math.max(1, width - rows.options.marginLeft);
    return {
      ...rows.options,
      x: { domain: [...domain], label: null },
      marks: [
        requestAxis(width),
        Plot.ruleY([...epochs.keys()], { y: (policy: string) => rows.y(policy, 0.5), stroke: 'var(--line)' }),
        Plot.ruleX(marks, {
          x: 'request',
          y1: ({ policy }: Epoch) => rows.y(policy, 0),
          y2: ({ policy }: Epoch) => rows.y(policy, 1),
          stroke: ({ policy }: Epoch) => colourOf(colours, policy),
          // Strokes of neighbouring requests must not merge into a bar.
          strokeWidth: Math.min(3, Math.max(1, 0.6 / span)),
          ariaLabel: 'policy',
        }),
        rows.labels,
        Plot.tip(
          marks,
          Plot.pointer({
            lineHeight: 1.3,
            x: 'request',
            y: ({ policy }: Epoch) => rows.y(policy, 0.5),
            title: ({ policy, request }: Epoch) =>
              `${policy}\nepoch at request ${request} (${formatPlural(epochs.get(policy)?.length ?? 0, 'epoch')} in all)`,
          }),
        ),
      ],
    };
  };
  return <Figure label={label} draw={draw} />;
}
