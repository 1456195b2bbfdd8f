import * as Plot from '@observablehq/plot';
import { formatTokens } from '../format.ts';
import { Figure } from './figure.tsx';
import { colourOf } from './policy-colours.ts';
import { labelWidth, NARROW } from './policy-rows.ts';

/** The width of the sizes on the left, here and in the plot below. */
export const AXIS_WIDTH = 48;

interface ContextPlotProps {
  readonly label: string;
  /** The size of each request, by policy. */
  readonly sizes: ReadonlyMap<string, readonly number[]>;
  readonly colours: ReadonlyMap<string, string>;
  readonly chosen: string;
}

interface Point {
  readonly policy: string;
  readonly request: number;
  readonly tokens: number;
}

/** The size of the context, request by request. */
export function ContextPlot({ label, sizes, colours, chosen }: ContextPlotProps) {
  const points: Point[] = [...sizes].flatMap(([policy, list]) =>
    list.map((tokens, i) => ({ policy, request: i + 1, tokens })),
  );
  const isChosen = ({ policy }: Point): boolean => policy === chosen;
  const line = (data: readonly Point[], strokeWidth: number) =>
    Plot.line(data, {
      x: 'request',
      y: 'tokens',
      z: 'policy',
      stroke: ({ policy }: Point) => colourOf(colours, policy),
      strokeWidth,
      strokeLinejoin: 'round',
      ariaLabel: 'policy',
    });
  const draw = (width: number): Plot.PlotOptions => ({
    height: width < NARROW ? 240 : 300,
    marginLeft: width < NARROW ? AXIS_WIDTH : Math.max(AXIS_WIDTH, labelWidth([...sizes.keys()])),
    marginRight: 16,
    marginTop: 12,
    marginBottom: 40,
    x: { domain: requestDomain(sizes), label: null },
    y: { zero: true, nice: true, label: null },
    marks: [
      Plot.gridY({ ticks: 5 }),
      Plot.axisY({ ticks: 5, tickFormat: formatTokens, tickSize: 0, label: null }),
      requestAxis(width),
      Plot.ruleY([0], { stroke: 'var(--line)' }),
      line(
        points.filter((point) => !isChosen(point)),
        1.5,
      ),
      line(points.filter(isChosen), 3),
      Plot.dot(
        points,
        Plot.pointer({ x: 'request', y: 'tokens', r: 4, fill: ({ policy }: Point) => colourOf(colours, policy) }),
      ),
      Plot.tip(
        points,
        Plot.pointer({
          lineHeight: 1.3,
          x: 'request',
          y: 'tokens',
          title: ({ policy, request, tokens }: Point) =>
            `${policy}\nrequest ${request}: ${formatTokens(tokens)} tokens`,
        }),
      ),
    ],
  });
  return <Figure label={label} draw={draw} />;
}

/** From the first request to the last, the same in all plots of a run. */
export function requestDomain(sizes: ReadonlyMap<string, readonly unknown[]>): [number, number] {
  return [1, Math.max(2, ...[...sizes.values()].map((list) => list.length))];
}

export const requestAxis = (width: number) =>
  Plot.axisX({
    ticks: width / 80,
    tickFormat: (value: number) => (Number.isInteger(value) ? `${value}` : ''),
    tickSize: 0,
    label: 'request',
    labelArrow: 'none',
  });
