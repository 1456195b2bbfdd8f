import type { Plan, Segment, Violation } from '../message.ts';

/** What the caller's request must say when an edit stands before thinking that is signed over its prefix. */
const OPT_IN = {
  field: 'thinking.block_binding.prefix_mismatch_behavior',
  value: 'drop_block',
  header: 'anthropic-beta',
  headerValue: 'thinking-binding-controls-2026-08-01',
} as const;

/** Law 3: newer Claude models bind a thinking block to everything before it. */
export function boundThinking(firstEdited: number, lastSigned: number, model: string | undefined) {
  return firstEdited < lastSigned && bindsThinking(model) ? [OPT_IN] : [];
}

/** Claude 5.1 and later; a model that is not named might be one. */
function bindsThinking(model: string | undefined): boolean {
  const version = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])/.exec(model ?? '');
  if (!version) return model === undefined || !model.includes('claude');
  return Number(version[1]) + Number(version[2] ?? 0) / 100 >= 5.01;
}

/** Law 3, bound reasoning: what is signed, encrypted or redacted is never replaced. */
export function checkBound(segments: readonly Segment[], plan: Plan): Violation[] {
  return plan.edits.flatMap((edit): Violation[] => {
    const segment = edit.kind === 'replace' ? segments[edit.segment] : undefined;
    const isLegal =
      segment === undefined || (segment.kind === 'observation' && !segment.bound && segment.callId !== undefined);
    if (isLegal) return [];
    const text = `An edit replaces ${segment.bound ? 'bound ' : ''}${segment.kind}; only a result that answers a call may be replaced.`;
    return [
      { law: 'bound-reasoning', message: segment.message, text, about: segment.callId ?? segment.path.join('.') },
    ];
  });
}
