import { replacementLaw } from './law.ts';

/** The fields that a request needs if an edit comes before thinking that is signed over its prefix. */
export const OPT_IN = Object.freeze({
  field: 'thinking.block_binding.prefix_mismatch_behavior',
  value: 'drop_block',
  header: 'anthropic-beta',
  headerValue: 'thinking-binding-controls-2026-08-01',
} as const);

export function boundThinking(firstEdited: number, lastSigned: number, model: string | undefined) {
  return firstEdited < lastSigned && bindsThinking(model) ? [OPT_IN] : [];
}

/**
 * Whether a model binds a thinking block to everything before it: Claude 5.1 and later. A name that shows neither Claude's version nor
 * another maker may be an alias of such a model, so it binds (docs/decisions/2026-11-16-bound-thinking.md).
 */
export function bindsThinking(model = ''): boolean {
  const version = CLAUDE.exec(model);
  if (version) return Number(version[1]) + Number(version[2] ?? 0) / 100 >= 5.01;
  return /claude/i.test(model) || !OTHER_MAKERS.test(model);
}

const CLAUDE = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i;
const OTHER_MAKERS = /deepseek|gemini|glm|gpt|grok|kimi|llama|minimax|mistral|qwen/i;

/**
 * Law 3, bound reasoning: only a result that answers a call is ever replaced, and never a bound one. Of a call, only the text that an
 * edit replaced.
 */
export const boundReasoning = replacementLaw('bound-reasoning', ({ why }, { kind, bound, callId }) => {
  if (kind === (why === 'old-text' ? 'action' : 'observation') && !bound && callId !== undefined) return undefined;
  return `A replacement of ${bound ? 'bound ' : ''}${kind}: only a result that answers a call may be replaced.`;
});
