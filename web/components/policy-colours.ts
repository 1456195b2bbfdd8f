/** As many as `--series-…` in style.css. */
const SERIES = 12;

/** A colour for each policy: the same in every plot and table. What all are compared with stays grey. */
export function policyColours(policies: readonly string[]): ReadonlyMap<string, string> {
  const coloured = policies.filter((policy) => policy !== 'none');
  return new Map([
    ['none', 'var(--series-none)'],
    ...coloured.map((policy, i) => [policy, `var(--series-${(i % SERIES) + 1})`] as const),
  ]);
}

/** What has no colour of its own is drawn like the text. */
export const colourOf = (colours: ReadonlyMap<string, string>, policy: string): string =>
  colours.get(policy) ?? 'currentColor';
