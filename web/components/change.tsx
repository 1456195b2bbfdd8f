import { formatChange } from '../format.ts';

/** A change of cost. Less is good. The sign shows it too, not only the colour. */
export function Change({ share }: { readonly share: number | null | undefined }) {
  const kind = typeof share !== 'number' || Math.abs(share) < 0.0005 ? 'even' : share < 0 ? 'less' : 'more';
  return <span class={`change ${kind}`}>{formatChange(share)}</span>;
}
