import { shortenCalls } from '../shorten-calls.ts';
import { readToolUse } from '../tool-kind.ts';
import type { OldTextsPart } from './parts.ts';

/** The part for policies with `oldTexts`. */
export const oldTexts: OldTextsPart = {
  shortenCalls: (ledger, toolUse = readToolUse) => shortenCalls(ledger, toolUse),
};
