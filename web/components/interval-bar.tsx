import type { Interval } from '../../src/report/interval.ts';

interface IntervalBarProps {
  readonly interval: Interval;
  /** The value at the left and right end. Parts of the interval beyond it are cut off. */
  readonly reach: number;
  /** The text for screen readers. */
  readonly label: string;
  /** Whether values above zero are good. */
  readonly isMoreGood: boolean;
}

const WIDTH = 240;
const HEIGHT = 18;
const PAD = 6;

/** An interval as a bar on a line with zero in the middle. Its colour shows the side of zero, if the whole interval is on one side. */
export function IntervalBar({ interval, reach, label, isMoreGood }: IntervalBarProps) {
  const x = (value: number): number => {
    const clamped = Math.max(-reach, Math.min(reach, value));
    return WIDTH / 2 + (clamped / reach) * (WIDTH / 2 - PAD);
  };
  const { value, low, high } = interval;
  const kind = low > 0 ? (isMoreGood ? 'good' : 'bad') : high < 0 ? (isMoreGood ? 'bad' : 'good') : 'open';
  return (
    <svg class={`interval ${kind}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img">
      <title>{label}</title>
      <line class="interval-axis" x1={PAD} x2={WIDTH - PAD} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      <line class="interval-zero" x1={WIDTH / 2} x2={WIDTH / 2} y1={1} y2={HEIGHT - 1} />
      <rect
        class="interval-range"
        x={x(low)}
        y={HEIGHT / 2 - 3}
        width={Math.max(2, x(high) - x(low))}
        height={6}
        rx={3}
      />
      <circle class="interval-value" cx={x(value)} cy={HEIGHT / 2} r={4.5} />
    </svg>
  );
}
