import { randomUUID } from 'node:crypto';
import { conversationId } from '../../store/access.ts';
import type { Decided } from '../decide/decide.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Entry } from '../receipts/book.ts';
import { countedOf, type Sent, type Times, writeReceipt } from '../receipts/write-receipt.ts';
import type { Route } from './route.ts';

/** A request that was understood, decided and sent. */
export interface Over {
  readonly tenant: string;
  /** The user's, as the request carried it. */
  readonly credential: string | undefined;
  readonly route: Route;
  readonly decided: Decided;
  readonly sent: Sent;
  readonly times: Times;
}

/** Tells the memory what became of a request, and writes its receipt. `count_tokens` has none and changes nothing. */
export function settleRequest(
  context: GatewayContext,
  { tenant, credential, route, decided, sent, times }: Over,
): Entry | undefined {
  if (route.isCountTokens) return undefined;
  const { status, usage } = sent;
  const isTaken = status >= 200 && status < 300;
  if (isTaken) decided.answered({ now: context.now(), promptTokens: usage && usage.cached + usage.written });
  const counted = context.tenants.counted(tenant);
  const owner = context.tenants.opened(tenant)?.ownerOf(credential);
  const conversation = decided.conversation && conversationId(decided.conversation, owner);
  // Each model counts its own way.
  const key = `${conversation} ${decided.decision.model ?? ''}`;
  const previous = counted.get(key);
  const { api = '', path } = route;
  const entry = writeReceipt({ id: nextId(), conversation, api, path, decided, previous, sent, times });
  if (isTaken) counted.set(key, countedOf(entry, { decided, previous }));
  return entry;
}

const PROCESS = randomUUID().slice(0, 13);
let count = 0;

/** No other receipt has it, of this process or of another. */
const nextId = (): string => `${PROCESS}-${++count}`;
