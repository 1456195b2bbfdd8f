import { badOption } from '../../options.ts';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import { errorText } from './result-text.ts';
import { failed, type PreparedCall } from './tools.ts';

/** A person's decision about a call. */
export type Decision =
  | boolean
  /** The reason is told to the model, where the call is refused. */
  | { readonly approved: boolean; readonly reason?: string };

/** Decides about a call at once, or answers `'wait'`: then the run stops until `resumeAgent` brings the decision. */
export type Approve = (call: ToolCall, signal: AbortSignal) => Decision | 'wait' | Promise<Decision | 'wait'>;

/** A call and whether it may be made. */
export interface JudgedCall {
  readonly prepared: PreparedCall;
  readonly verdict: 'run' | 'wait' | { readonly denied: string };
  /** A person was asked. */
  readonly isDecided: boolean;
}

/** Decides whether a call may be made. A call that cannot be run needs no approval: its error is its result. */
export async function judge(given: PreparedCall, approve: Approve, signal: AbortSignal): Promise<JudgedCall> {
  const { prepared, isAsked } = await needsApproval(given);
  if (!isAsked) return { prepared, verdict: 'run', isDecided: false };
  const decision = await approve(prepared.call, signal);
  if (decision === 'wait') return { prepared, verdict: 'wait', isDecided: false };
  const { approved, reason } = typeof decision === 'boolean' ? { approved: decision } : { reason: '', ...decision };
  if (typeof approved !== 'boolean') throw badOption('what approve answers', "true, false or 'wait'", decision);
  return { prepared, verdict: approved ? 'run' : { denied: reason ?? '' }, isDecided: true };
}

async function needsApproval(prepared: PreparedCall): Promise<{ prepared: PreparedCall; isAsked: boolean }> {
  if ('refused' in prepared) return { prepared, isAsked: false };
  const { call, tool, args } = prepared;
  const { needsApproval = false } = tool;
  try {
    return { prepared, isAsked: typeof needsApproval === 'function' ? await needsApproval(args) : needsApproval };
  } catch (error) {
    // The function failed on these arguments, so the call is not made.
    const why = `it could not be told whether ${call.name} may be called like this: ${errorText(error)}`;
    return { prepared: { call, refused: failed(call, why) }, isAsked: false };
  }
}

/** The text that the model reads in place of a result. */
export function deniedResult(call: ToolCall, reason: string): ToolResult {
  return failed(call, `the user did not approve this call${reason === '' ? '' : `: ${reason}`}`);
}
