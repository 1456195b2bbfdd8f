import type { Act } from '../../src/gateway/receipts/receipt.ts';
import { ACT_WORDS } from './model.ts';

/** The act of the gateway as a small label. */
export function ActName({ act }: { readonly act: Act }) {
  return <span class={`act act-${act}`}>{ACT_WORDS[act] ?? act}</span>;
}
