import type { Segment } from '../../message.ts';
import { isRecallName } from '../../plan/handles.ts';
import { failureOf } from '../../plan/placeholder.ts';
import type { HarmSigns } from '../../report/request-record.ts';
import type { Listed } from '../conversation/cached-history.ts';
import type { Decision } from './decision.ts';

/** The signs of harm that a request shows. Its answer shows one more. */
export type RequestSigns = Omit<HarmSigns, 'isFinal'>;

const NONE: RequestSigns = { results: 0, failed: 0, repeated: 0, recalls: 0 };

export interface SignsOptions {
  /** Whether other processes may have had the previous request. */
  readonly isStoreShared: boolean;
}

/** Reads the signs from the new results of a request. It takes time: ask after the request is sent. */
export function signsOf({ basis }: Decision, options: SignsOptions): RequestSigns {
  if (!basis) return NONE;
  const { request, segments } = basis.planned;
  const { listed } = request;
  const from = firstNew(listed, request.seenMessages, options);
  const signs = { ...NONE };
  const taken = new Set<number>();
  for (let i = segments.length - 1; i >= 0 && (segments[i] as Segment).message >= from; i--) {
    const result = segments[i] as Segment;
    const read = listed[result.message]?.read;
    // Tools that the provider runs have their results in the reply. The planner may have the next request by now.
    if (result.kind !== 'observation' || !read || read.isReply) continue;
    const call = callOf(segments, i, taken);
    taken.add(call);
    const tool = result.tool ?? segments[call]?.tool ?? '';
    const isRecall = isRecallName(tool);
    signs.results += 1;
    // A recalled text may contain a failure that was counted when it happened.
    if (isRecall ? result.isError : failureOf({ isError: result.isError === true, text: result.text, tool }))
      signs.failed += 1;
    if (isRecall) signs.recalls += 1;
    if (call >= 0 && isRepeated(segments, call)) signs.repeated += 1;
  }
  return signs;
}

/**
 * The first message that no request had before. A retry has none. If earlier requests are unknown, or another process may have counted
 * results that this one has not seen, only the results after the last reply are new.
 */
function firstNew(listed: readonly Listed[], seen: number, { isStoreShared }: SignsOptions): number {
  let afterReply = listed.length;
  while (afterReply > 0 && !listed[afterReply - 1]?.read.isReply) afterReply -= 1;
  return isStoreShared || seen === 0 ? Math.max(seen, afterReply) : seen;
}

/** The call that a result answers: the last unanswered one with its id; -1 if there is none. */
function callOf(segments: readonly Segment[], result: number, taken: ReadonlySet<number>): number {
  const { callId } = segments[result] as Segment;
  if (callId === undefined) return -1;
  return segments.findLastIndex(
    (one, i) => i < result && one.kind === 'action' && one.callId === callId && !taken.has(i),
  );
}

function isRepeated(segments: readonly Segment[], call: number): boolean {
  const { tool, text } = segments[call] as Segment;
  const found = segments.findIndex((one) => one.kind === 'action' && one.text === text && one.tool === tool);
  return found < call;
}
