import type { Act } from '../../src/gateway/receipts/receipt.ts';
import type { Arm } from '../../src/report/request-record.ts';
import { actWords } from './model.ts';

/** The act of the gateway as a small label. A session that is not masked shows what would have been done. */
export function ActName({ act, arm }: { readonly act: Act; readonly arm: Arm }) {
  return <span class={`act act-${arm === 'treated' ? act : 'wait'}`}>{actWords(act, arm)}</span>;
}
