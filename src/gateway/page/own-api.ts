import type { IncomingMessage, ServerResponse } from 'node:http';
import { PalimpsestError } from '../../errors.ts';
import { recallLimits, recordLimits } from '../../limits.ts';
import { originalHandle } from '../../plan/arrival/last-line.ts';
import { sessionOf } from '../../store/access.ts';
import { type RecallOptions, recall } from '../../store/recall.ts';
import type { Match, Store } from '../../store/store.ts';
import { isEventSession } from '../conversation/events.ts';
import { answerError, answerJson } from '../exchange/answer.ts';
import type { InFlight } from '../exchange/in-flight.ts';
import type { Status } from '../receipts/receipt.ts';
import type { RecordStore } from '../receipts/record-stores.ts';
import type { Records } from '../receipts/records.ts';
import type { Reports } from './reports.ts';

export interface ApiOptions {
  readonly records: Records;
  readonly inFlight: InFlight;
  readonly reports: Reports;
  /** The tenant of the request's token. */
  readonly tenant: string;
  storeOf(tenant: string): Promise<Store>;
  /** The store of a tenant's request records. */
  recordStoreOf(tenant: string): Promise<RecordStore>;
  /** The status without the totals. */
  statusOf(tenant: string): Promise<Omit<Status, 'totals'>>;
}

/** Answers the JSON API. `target` is the path after `/_palimpsest/api/`, and the query. */
export async function answerApi(
  options: ApiOptions,
  request: IncomingMessage,
  response: ServerResponse,
  target: string,
): Promise<void> {
  // Not relative to a base: `http://[` is a path here, and no address.
  const { pathname, searchParams } = new URL(`http://own/${target}`);
  const [name = '', id, ...rest] = pathname.slice(1).split('/');
  const answer = rest.length === 0 && Object.hasOwn(answers, name) ? answers[name] : undefined;
  try {
    if (!answer) throw new PalimpsestError('NOT_FOUND', `Expected one of ${Object.keys(answers).join(', ')}`);
    const value = await answer({ ...options, id, query: searchParams, request, response });
    if (value) answerJson(response, 200, value);
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    answerError(response, STATUS[error.code] ?? 503, { code: error.code, message: error.message });
  }
}

const STATUS: Readonly<Record<string, number>> = { NOT_FOUND: 404, BAD_OPTION: 400, BAD_INPUT: 400 };

interface Asked extends ApiOptions {
  readonly id: string | undefined;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Undefined if the function answers the request itself. */
type Answer = (asked: Asked) => Promise<object | undefined>;

const answers: Readonly<Record<string, Answer>> = {
  status: async ({ tenant, records, statusOf }) => ({
    ...(await statusOf(tenant)),
    totals: await records.receipts(tenant).totals(),
  }),
  conversations: async ({ tenant, records, id, query }) => {
    const log = records.receipts(tenant);
    if (id === undefined) return { conversations: await log.conversations(countOf(query, 'limit') ?? 50) };
    const found = await log.conversation(id);
    if (!found) throw new PalimpsestError('NOT_FOUND', 'This gateway knows no such conversation since its start');
    return found;
  },
  masked: async ({ tenant, storeOf, id = '', query }) => {
    const store = await storeOf(tenant);
    const handle = query.get('original') === 'true' ? await originalOf(store, id) : id;
    const recalled = await recall(store, handle, recallOptions(query));
    const refs = (await store.get(handle))?.refs ?? [];
    return { handle, ...recalled, refs };
  },
  search: async ({ tenant, records, storeOf, query }) => {
    const id = query.get('conversation');
    const found = id ? await records.receipts(tenant).conversation(id) : undefined;
    return search(await storeOf(tenant), query, found?.conversation.session ?? id);
  },
  report: async ({ tenant, recordStoreOf, reports, query }) =>
    reports.reportOf(tenant, await recordStoreOf(tenant), query),
  events: async ({ tenant, records, inFlight, request, response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
    if (request.method === 'HEAD') {
      response.end();
      return undefined;
    }
    const log = records.receipts(tenant);
    streamEvents((watcher) => log.watch(watcher), request, response);
    inFlight.endAtClose(response);
    return undefined;
  },
};

/** The original of a text that was made smaller when it was first sent, if this is its handle and the original is stored. */
async function originalOf(store: Store, handle: string): Promise<string> {
  const whole = originalHandle((await store.get(handle))?.text ?? '');
  return whole !== undefined && (await store.get(whole)) ? whole : handle;
}

function recallOptions(query: URLSearchParams): RecallOptions {
  const [head, tail, from, to] = ['head', 'tail', 'from', 'to'].map((name) => countOf(query, name));
  const lines = from === undefined && to === undefined ? undefined : ([from ?? 1, to ?? MOST_LINES] as const);
  return {
    ...(head === undefined ? {} : { head }),
    ...(tail === undefined ? {} : { tail }),
    ...(lines === undefined ? {} : { lines }),
  };
}

const MOST_LINES = Number.MAX_SAFE_INTEGER;

function countOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new PalimpsestError('BAD_INPUT', `Expected ${name} to be a whole number of 0 or more`);
}

/** Texts are stored by session: a conversation is searched with all others of its session. */
async function search(store: Store, query: URLSearchParams, name: string | null): Promise<object> {
  const matches: object[] = [];
  try {
    const found = store.search(query.get('q') ?? '', {
      limit: recallLimits.dashboardMatches,
      ignoreCase: true,
      regex: query.get('regex') === 'true',
      ...(name ? { session: sessionOf(name) } : {}),
    });
    for await (const match of found) if (!isEvent(match)) matches.push(toFound(match));
  } catch (error) {
    if (!(error instanceof PalimpsestError && error.code === 'TIMED_OUT')) throw error;
    return { matches, timedOut: true };
  }
  return { matches };
}

/** Events of the gateway are not tool output. */
const isEvent = ({ refs }: Match): boolean => refs.length > 0 && refs.every(({ session }) => isEventSession(session));

function toFound({ handle, line, text, refs }: Match): object {
  const [{ session, turn, tool } = {}] = refs;
  return { handle, line, text: text.slice(0, recallLimits.dashboardLineChars), session, turn, tool };
}

const HEARTBEAT_MS = 15_000;

function streamEvents(
  watch: (watcher: (entered: object) => void) => () => void,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const write = (text: string): void => {
    if (response.writableLength > recordLimits.unreadEventBytes) response.destroy();
    else response.write(text);
  };
  write(': open\n\n');
  const heart = setInterval(() => write(': still here\n\n'), HEARTBEAT_MS);
  const stop = watch((entered) => write(`event: receipt\ndata: ${JSON.stringify(entered)}\n\n`));
  request.once('close', stop);
  response.once('close', () => {
    clearInterval(heart);
    stop();
  });
}
