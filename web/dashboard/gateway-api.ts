import type { ConversationSummary, Mask, Receipt, Shaped, Status, Totals } from '../../src/gateway/receipts/receipt.ts';
import type { Report } from '../../src/report/report.ts';
import { readEvents } from './read-events.ts';

/** The details of one conversation. */
export interface ConversationDetail {
  readonly conversation: ConversationSummary;
  /** The last ones, oldest first. */
  readonly receipts: readonly Receipt[];
  readonly masks: readonly Mask[];
  /** Results that were made smaller when they were first sent. */
  readonly shaped: readonly Shaped[];
}

/** One more request, as it arrives live. */
export interface Update {
  readonly receipt: Receipt;
  readonly conversation: ConversationSummary;
  readonly totals: Totals;
}

/** Which lines of a masked text. */
export type Part =
  | { readonly kind: 'all' }
  | { readonly kind: 'head' | 'tail'; readonly lines: number }
  | { readonly kind: 'lines'; readonly from: number; readonly to: number };

export interface MaskedOptions {
  /** The exact original, if the masked text was made smaller when it was first sent. */
  readonly isOriginal?: boolean;
  readonly signal?: AbortSignal;
}

export interface RecalledText {
  readonly handle: string;
  readonly text: string;
  /** The size of the whole text, like `lines`. */
  readonly bytes: number;
  readonly lines: number;
  /** Whether there is more than `text` shows. */
  readonly truncated: boolean;
}

export interface Match {
  readonly handle: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly session?: string;
  readonly turn?: number;
  readonly tool?: string;
}

export interface Found {
  readonly matches: readonly Match[];
  readonly timedOut?: boolean;
}

export interface Query {
  readonly text: string;
  readonly conversation?: string | undefined;
  readonly regex?: boolean;
}

/** A failed request, with the gateway's own words. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The gateway's JSON API. */
export interface GatewayApi {
  status(signal?: AbortSignal): Promise<Status>;
  conversations(limit: number, signal?: AbortSignal): Promise<readonly ConversationSummary[]>;
  conversation(id: string, signal?: AbortSignal): Promise<ConversationDetail>;
  masked(handle: string, part: Part, options?: MaskedOptions): Promise<RecalledText>;
  search(query: Query, signal?: AbortSignal): Promise<Found>;
  /** The report of sessions that began after `since`, such as `7d`; of all sessions for an empty text. */
  report(since: string, signal?: AbortSignal): Promise<Report>;
  /** Resolves when the stream is open. Each item is an update, or undefined for a keep-alive. */
  events(signal: AbortSignal): Promise<AsyncGenerator<Update | undefined>>;
}

export function createGatewayApi(token: string, base = 'api/'): GatewayApi {
  const ask = async (path: string, signal?: AbortSignal): Promise<Response> => {
    const response = await fetch(base + path, {
      headers: { authorization: `Bearer ${token}` },
      cache: 'no-store',
      redirect: 'error',
      signal: signal ?? null,
    });
    if (!response.ok) throw new Refusal(response.status, await wordsOf(response));
    return response;
  };
  const json = async <Answer>(path: string, signal?: AbortSignal): Promise<Answer> =>
    (await (await ask(path, signal)).json()) as Answer;
  return {
    status: (signal) => json('status', signal),
    conversations: async (limit, signal) =>
      (await json<{ conversations: ConversationSummary[] }>(`conversations?limit=${limit}`, signal)).conversations,
    conversation: (id, signal) => json(`conversations/${encodeURIComponent(id)}`, signal),
    masked: (handle, part, { isOriginal = false, signal } = {}) =>
      json(`masked/${encodeURIComponent(handle)}?${partQuery(part)}${isOriginal ? '&original=true' : ''}`, signal),
    search: (query, signal) => json(`search?${searchQuery(query)}`, signal),
    report: (since, signal) => json(since === '' ? 'report' : `report?since=${since}`, signal),
    events: async (signal) => updates(await ask('events', signal)),
  };
}

async function* updates({ body }: Response): AsyncGenerator<Update | undefined> {
  if (!body) return;
  for await (const event of readEvents(body)) {
    yield event?.event === 'receipt' ? (JSON.parse(event.data) as Update) : undefined;
  }
}

function partQuery(part: Part): string {
  if (part.kind === 'all') return '';
  if (part.kind === 'lines') return `from=${part.from}&to=${part.to}`;
  return `${part.kind}=${part.lines}`;
}

function searchQuery({ text, conversation, regex }: Query): string {
  const query = new URLSearchParams({ q: text });
  if (conversation) query.set('conversation', conversation);
  if (regex) query.set('regex', 'true');
  return query.toString();
}

/** The gateway's error message, otherwise the status. */
async function wordsOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } };
    if (error?.message) return error.message;
  } catch {
    // A proxy in between may answer with its own page.
  }
  return `The gateway answered ${response.status} ${response.statusText}`.trim();
}
