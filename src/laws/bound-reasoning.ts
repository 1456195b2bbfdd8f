import { replacementLaw } from './law.ts';

/** What the caller's request must say when an edit stands before thinking that is signed over its prefix. */
const OPT_IN = Object.freeze({
  field: 'thinking.block_binding.prefix_mismatch_behavior',
  value: 'drop_block',
  header: 'anthropic-beta',
  headerValue: 'thinking-binding-controls-2026-08-01',
} as const);

/** Newer Claude models bind a thinking block to everything before it. */
export function boundThinking(firstEdited: number, lastSigned: number, model: string | undefined) {
  return firstEdited < lastSigned && bindsThinking(model) ? [OPT_IN] : [];
}

/** Claude 5.1 and later; a model that is not named might be one. */
function bindsThinking(model: string | undefined): boolean {
  const version = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])/.exec(model ?? '');
  if (!version) return true;
  return Number(version[1]) + Number(version[2] ?? 0) / 100 >= 5.01;
}

/** Law 3, bound reasoning: only a result that answers a call is ever replaced, and never one that is bound. */
export const boundReasoning = replacementLaw('bound-reasoning', (_edit, { kind, bound, callId }) => {
  if (kind === 'observation' && !bound && callId !== undefined) return undefined;
  return `A replacement of ${bound ? 'bound ' : ''}${kind}: only a result that answers a call may be replaced.`;
});
