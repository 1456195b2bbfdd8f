import { PalimpsestError } from '../errors.ts';
import type { Ledger } from './ledger/ledger.ts';

/** The error for a history that is too large after everything possible was cut. */
export function impossible<M>(ledger: Ledger<M>, budget: number, settings: string): PalimpsestError {
  const { system, user, reasoning, action, observation } = ledger.totals.after;
  const kinds = system.tokens + user.tokens + reasoning.tokens + action.tokens + observation.tokens;
  const parts = [
    `system prompt, tools and notes ${system.tokens + ledger.overheadTokens}`,
    `user messages ${user.tokens}`,
    `replies and calls ${reasoning.tokens + action.tokens}`,
    `results ${observation.tokens}`,
    `framing ${ledger.tokens - ledger.overheadTokens - kinds}`,
  ];
  return new PalimpsestError(
    'BUDGET_IMPOSSIBLE',
    `Expected a history that can be cut to ${budget} tokens but ${ledger.tokens} cannot be cut (${parts.join(', ')}); ` +
      `raise ${settings}, or shorten what only you can shorten`,
  );
}
