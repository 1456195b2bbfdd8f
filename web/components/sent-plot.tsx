import * as Plot from '@observablehq/plot';
import { formatTokens } from '../format.ts';
import { ColouredName } from './coloured-name.tsx';
import { AXIS_WIDTH, requestAxis } from './context-plot.tsx';
import { Figure } from './figure.tsx';
import { NARROW } from './policy-rows.ts';

/** The size of one request, with and without masks. */
export interface SentPoint {
  readonly request: number;
  readonly sent: number;
  readonly without: number;
  /** Whether it changed earlier messages. */
  readonly isEpoch: boolean;
  /** The text of the tip below the numbers. */
  readonly note: string;
}

interface SentPlotProps {
  readonly label: string;
  /** The names of the lines. */
  readonly names: { readonly sent: string; readonly without: string };
  readonly points: readonly SentPoint[];
  /** How a number is written: as tokens, if not given. */
  readonly format?: (value: number) => string;
}

const SENT = 'var(--series-1)';
const WITHOUT = 'var(--series-none)';
const EPOCH = 'var(--series-2)';
/** Up to this many requests, each one is also a dot. */
const FEW = 30;

/** Two lines over the requests with the area between them shaded, and a stroke for each epoch. */
export function SentPlot({ label, names, points, format = formatTokens }: SentPlotProps) {
  const epochs = points.filter(({ isEpoch }) => isEpoch);
  const draw = (width: number): Plot.PlotOptions => ({
    height: width < NARROW ? 210 : 240,
    marginLeft: AXIS_WIDTH,
    marginRight: 16,
    marginTop: 14,
    marginBottom: 40,
    x: { domain: domainOf(points), label: null },
    y: { zero: true, nice: true, label: null },
    marks: [
      Plot.gridY({ ticks: 4 }),
      Plot.axisY({ ticks: 4, tickFormat: format, tickSize: 0, label: null }),
      requestAxis(width),
      Plot.ruleY([0], { stroke: 'var(--line)' }),
      Plot.areaY(points, { x: 'request', y1: 'sent', y2: 'without', fill: SENT, fillOpacity: 0.1 }),
      Plot.ruleX(epochs, {
        x: 'request',
        stroke: EPOCH,
        strokeOpacity: 0.75,
        strokeDasharray: '2 3',
        ariaLabel: 'isEpoch',
      }),
      line(points, { y: 'without', stroke: WITHOUT, name: names.without }),
      line(points, { y: 'sent', stroke: SENT, name: names.sent }),
      ...(points.length > FEW ? [] : [dots(points, 'without', WITHOUT), dots(points, 'sent', SENT)]),
      Plot.dot(epochs, { x: 'request', y: 'sent', r: 3.5, fill: EPOCH, stroke: 'var(--surface)', strokeWidth: 1.5 }),
      Plot.ruleX(points, Plot.pointerX({ x: 'request', stroke: 'currentColor', strokeOpacity: 0.25 })),
      Plot.tip(
        points,
        Plot.pointerX({
          lineHeight: 1.35,
          x: 'request',
          y: 'sent',
          title: (point: SentPoint) => words(point, { names, format }),
        }),
      ),
    ],
  });
  return (
    <>
      <p class="key">
        <ColouredName name={names.sent} colour={SENT} />
        <ColouredName name={names.without} colour={WITHOUT} />
        {epochs.length > 0 && <ColouredName name="old results are masked" colour={EPOCH} />}
      </p>
      <Figure label={label} draw={draw} />
    </>
  );
}

function line(points: readonly SentPoint[], { y, stroke, name }: { y: keyof SentPoint; stroke: string; name: string }) {
  const strokeWidth = y === 'sent' ? 2.25 : 1.5;
  return Plot.line(points, { x: 'request', y, stroke, strokeWidth, strokeLinejoin: 'round', ariaLabel: () => name });
}

const dots = (points: readonly SentPoint[], y: keyof SentPoint, fill: string) =>
  Plot.dot(points, { x: 'request', y, r: 2, fill });

type Wording = Required<Pick<SentPlotProps, 'names' | 'format'>>;

function words({ request, sent, without, note }: SentPoint, { names, format }: Wording): string {
  const lines = [`request ${request}`, `${names.sent}: ${format(sent)}`, `${names.without}: ${format(without)}`, note];
  return lines.filter((text) => text !== '').join('\n');
}

/** A single request is drawn in the middle. */
function domainOf(points: readonly SentPoint[]): [number, number] {
  const [first, last] = [points[0]?.request ?? 1, points.at(-1)?.request ?? 1];
  return first === last ? [first - 1, last + 1] : [first, last];
}
