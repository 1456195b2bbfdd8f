/** The number of `--series-…` colours in style.css. */
const SERIES = 12;

/** A colour for each policy: the same in every plot and table. The policy that all are compared with stays grey. */
export function policyColours(policies: readonly string[]): ReadonlyMap<string, string> {
  const coloured = policies.filter((policy) => policy !== 'none');
  return new Map([
    ['none', 'var(--series-none)'],
    ...coloured.map((policy, i) => [policy, `var(--series-${(i % SERIES) + 1})`] as const),
  ]);
}

/** A policy without a colour is drawn like the text. */
export const colourOf = (colours: ReadonlyMap<string, string>, policy: string): string =>
  colours.get(policy) ?? 'currentColor';
