import * as Plot from '@observablehq/plot';

/** Below this width in pixels, a plot is drawn for a phone. */
export const NARROW = 460;
const LABEL_HEIGHT = 18;
const LETTER_WIDTH = 6.6;
const WIDEST_LABEL = 220;
/** An em in pixels, and a little more for fonts that run wide. */
const LETTERS_EM = 14;

interface PolicyRowsOptions {
  readonly policies: readonly string[];
  readonly width: number;
  /** The height of a row's marks, in pixels. */
  readonly bandHeight: number;
  /** The left margin of another plot, so that both begin at the same place. */
  readonly leastMargin?: number;
}

/** A row of a plot for each policy: its name is on the left or, if there is little room, above. */
export function policyRows({ policies, width, bandHeight, leastMargin = 4 }: PolicyRowsOptions) {
  const narrow = width < NARROW;
  const gap = 6;
  const rowHeight = bandHeight + gap + (narrow ? LABEL_HEIGHT : 0);
  const marginLeft = Math.max(leastMargin, narrow ? 0 : labelWidth(policies));
  const marginTop = 8;
  const marginBottom = 40;
  const row = new Map(policies.map((policy, index) => [policy, index]));
  /** `at` goes from 0, the upper edge of the band, to 1, the lower one. */
  const y = (policy: string, at: number): number =>
    (row.get(policy) ?? 0) + ((narrow ? LABEL_HEIGHT : gap / 2) + at * bandHeight) / rowHeight;
  const labels = Plot.text(policies, {
    y: (policy: string) => (narrow ? (row.get(policy) ?? 0) : y(policy, 0.5)),
    text: (policy: string) => policy,
    frameAnchor: 'left',
    textAnchor: narrow ? 'start' : 'end',
    lineAnchor: narrow ? 'top' : 'middle',
    dx: narrow ? 4 - marginLeft : -10,
    dy: narrow ? 2 : 0,
    // In ems. Only names wider than the widest margin are cut, because the width of letters is a guess.
    lineWidth: narrow
      ? width / LETTERS_EM
      : marginLeft < WIDEST_LABEL
        ? Number.POSITIVE_INFINITY
        : marginLeft / LETTERS_EM,
    textOverflow: 'ellipsis',
    fill: 'currentColor',
    stroke: 'var(--surface)',
    strokeWidth: 5,
    title: (policy: string) => policy,
  });
  const options = {
    height: marginTop + policies.length * rowHeight + marginBottom,
    marginLeft,
    marginRight: 16,
    marginTop,
    marginBottom,
    y: { axis: null, domain: [0, Math.max(1, policies.length)], reverse: true },
  } as const satisfies Plot.PlotOptions;
  return { y, labels, options };
}

export const labelWidth = (policies: readonly string[]): number =>
  Math.min(Math.max(0, ...policies.map((policy) => policy.length)) * LETTER_WIDTH + 12, WIDEST_LABEL);
