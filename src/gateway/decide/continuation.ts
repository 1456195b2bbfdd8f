import type { Fields } from '../../formats/lens.ts';
import { linkLimits } from '../../limits.ts';
import { hasResult, type Listed } from '../conversation/cached-history.ts';
import { resultName } from '../conversation/prefix-hash.ts';
import { toHashed } from './read-message.ts';
import type { ReadRequest } from './read-request.ts';
import { isSummary } from './task.ts';

type Asked = Pick<ReadRequest, 'wire' | 'listed' | 'session' | 'part' | 'knownMessages'>;

/**
 * Whether earlier requests of the session must have been sent: this one has a tool result. Without an id, a session is known by
 * its task, so a reply to the task or a summary in its place tell too.
 */
export function isUnderWay({ listed, session, part }: Asked): boolean {
  if (listed.some(hasResult)) return true;
  if (session !== part) return false;
  const task = listed.findIndex(({ prefix }) => prefix === session);
  return isSummary(listed[task]?.read.title ?? '') || listed.slice(task + 1).some(({ read }) => read.isReply);
}

/** The names of the last tool results of a request, the latest first. None where the agent sends an id: the id tells more. */
export function resultNames(request: Asked): readonly string[] {
  if (request.session !== request.part) return [];
  const last = request.listed.filter(hasResult).slice(-linkLimits.results).reverse();
  return last.flatMap((one) => namesIn(request, one));
}

/** The same of the last tool result alone, where no earlier request had it. */
export function newResultName(request: Asked): string | undefined {
  const last = request.session === request.part ? request.listed.findLast(hasResult) : undefined;
  if (!last || request.listed.indexOf(last) < request.knownMessages) return undefined;
  return namesIn(request, last)[0];
}

/** The latest first. */
function namesIn({ wire }: Asked, { read: { message, originals } }: Listed): readonly string[] {
  const results = wire.format.view([message]).filter(({ kind }) => kind === 'observation');
  return results.reverse().flatMap((result) => resultName(toHashed(wire, message as Fields, result, originals)) ?? []);
}
