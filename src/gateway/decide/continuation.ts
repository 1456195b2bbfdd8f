import type { Fields } from '../../formats/lens.ts';
import { linkLimits } from '../../limits.ts';
import { hasResult, type Listed } from '../conversation/cached-history.ts';
import { resultName } from '../conversation/prefix-hash.ts';
import { toHashed } from './read-message.ts';
import type { ReadRequest } from './read-request.ts';
import { isSummary } from './task.ts';

type Asked = Pick<ReadRequest, 'wire' | 'listed' | 'session' | 'part' | 'knownMessages'>;

/**
 * Whether earlier requests of the session must have been sent: this one has a tool result. Without an id, a session is identified by its
 * task. Then a reply to the task, or a summary in its place, shows it too.
 */
export function isUnderWay({ listed, session, part }: Asked): boolean {
  if (listed.some(hasResult)) return true;
  if (session !== part) return false;
  const task = listed.findIndex(({ prefix }) => prefix === session);
  return isSummary(listed[task]?.read.title ?? '') || listed.slice(task + 1).some(({ read }) => read.isReply);
}

/** The names of the last tool calls and results of a request, the latest first. None if the agent sends an id, which is better evidence. */
export function linksOf(request: Asked): readonly string[] {
  if (request.session !== request.part || !request.listed.some(hasResult)) return [];
  return request.listed
    .slice(-linkLimits.messages)
    .reverse()
    .flatMap((one) => namesIn(request, one));
}

/** The names of the last tool result and of the message before it, if no earlier request had that result. */
export function newLinksOf(request: Asked): readonly string[] {
  const { listed, knownMessages } = request;
  const last = request.session === request.part ? listed.findLastIndex(hasResult) : -1;
  if (last < knownMessages) return [];
  const names = listed.slice(Math.max(0, last - 1), last + 1).flatMap((one) => namesIn(request, one).slice(0, 1));
  return [...new Set(names)];
}

/** The latest first. Some agents send the id of a call only with the call. */
function namesIn({ wire }: Asked, { read: { message, originals } }: Listed): readonly string[] {
  const names = wire.format.view([message]).map((segment) => {
    if (segment.kind === 'observation') return resultName(toHashed(wire, message as Fields, segment, originals));
    return segment.kind === 'action' ? resultName({ callId: segment.callId, text: '' }) : undefined;
  });
  return names.reverse().flatMap((name) => name ?? []);
}
