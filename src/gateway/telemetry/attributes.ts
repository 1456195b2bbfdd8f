import type { Usage } from '../exchange/usage-reader.ts';
import type { Receipt } from '../receipts/receipt.ts';

/** Attributes as OpenTelemetry takes them. */
export type SpanAttributes = Record<string, string | number | boolean>;

/** A request that was decided and is not sent yet. */
export interface Asked {
  readonly requestId: string;
  readonly tenant: string;
  /** The operation by the conventions: `chat`, `generate_content`, or our own `count_tokens`. */
  readonly operation: string;
  /** The provider's name in the conventions. */
  readonly provider: string;
  readonly model: string | undefined;
  /** The origin of the upstream. */
  readonly origin: string;
}

/** A request that is over. */
export interface Answered {
  /** 0 if there was no answer. */
  readonly status: number;
  /** Why the answer is missing or incomplete: a network code, or that the client left. */
  readonly failure: string | undefined;
  readonly usage: Usage | undefined;
  readonly streamed: boolean;
  /** Undefined for a count of tokens. */
  readonly receipt: Omit<Receipt, 'request'> | undefined;
  readonly totalMs: number;
}

/** The attributes that are known before the request is sent, for samplers. */
export function requestAttributes({ requestId, tenant, operation, provider, model, origin }: Asked): SpanAttributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
    ...serverOf(origin),
    'palimpsest.request.id': requestId,
    'palimpsest.tenant': tenant,
  };
}

function serverOf(origin: string): SpanAttributes {
  const { hostname, port, protocol } = new URL(origin);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** Numbers and our own words, without any text of a user, a tool or a model. */
export function answerAttributes(answered: Answered): SpanAttributes {
  const { status, streamed, usage, receipt } = answered;
  const error = errorType(answered);
  return {
    ...(status > 0 ? { 'http.response.status_code': status } : {}),
    ...(error === undefined ? {} : { 'error.type': error }),
    'gen_ai.request.stream': streamed,
    ...(usage ? usageAttributes(usage) : {}),
    ...(receipt ? receiptAttributes(receipt) : {}),
  };
}

/** Input tokens include those of the cache. Cache writes are there only if the provider reports them. */
function usageAttributes({ cached, written, uncached, completionTokens, model }: Usage): SpanAttributes {
  return {
    'gen_ai.usage.input_tokens': cached + written,
    'gen_ai.usage.cache_read.input_tokens': cached,
    ...(uncached === undefined ? {} : { 'gen_ai.usage.cache_creation.input_tokens': written - uncached }),
    'gen_ai.usage.output_tokens': completionTokens,
    ...(model === undefined ? {} : { 'gen_ai.response.model': model }),
  };
}

function receiptAttributes(receipt: NonNullable<Answered['receipt']>): SpanAttributes {
  const { refused, unsent } = receipt;
  return {
    'gen_ai.conversation.id': receipt.conversation,
    'palimpsest.receipt.id': receipt.id,
    'palimpsest.session.id': receipt.session,
    'palimpsest.arm': receipt.arm,
    'palimpsest.act': receipt.act,
    'palimpsest.because': receipt.because,
    'palimpsest.epoch': receipt.epoch,
    'palimpsest.masks': receipt.masked,
    'palimpsest.new_masks': receipt.newMasks.length,
    'palimpsest.shaped': receipt.shaped ?? 0,
    'palimpsest.tokens.without': receipt.without.tokens,
    'palimpsest.tokens.sent': receipt.sent.tokens,
    'palimpsest.tokens.estimated': receipt.estimated,
    'palimpsest.cost.without': receipt.cost.without,
    'palimpsest.cost.sent': receipt.cost.sent,
    'palimpsest.overhead_ms': receipt.overheadMs,
    ...(unsent ? { 'palimpsest.unsent': true } : {}),
    ...(refused ? { 'palimpsest.refused.status': refused.status } : {}),
  };
}

/** The status of an error, or why there is no status. Undefined for a complete answer. */
export function errorType({ status, failure }: Answered): string | undefined {
  return failure ?? (status >= 400 || status === 0 ? String(status) : undefined);
}

/** Clients may name any model. Only a name that the provider accepted becomes a label, so the number of labels is bounded. */
export function metricAttributes({ operation, provider, model, origin }: Asked, answered: Answered): SpanAttributes {
  const isTaken = answered.status >= 200 && answered.status < 300;
  const responseModel = answered.usage?.model;
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    ...(isTaken && model !== undefined ? { 'gen_ai.request.model': model } : {}),
    ...(responseModel === undefined ? {} : { 'gen_ai.response.model': responseModel }),
    ...serverOf(origin),
  };
}
