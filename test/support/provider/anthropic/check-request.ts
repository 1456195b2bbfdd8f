import type { IncomingHttpHeaders } from 'node:http';
import { extraField, type Fields, isFields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { checkMarkers } from './check-markers.ts';
import { checkMessages } from './check-messages.ts';

export const BINDING_BETA = 'thinking-binding-controls-2026-08-01';

const COMMON = names('model messages system tools tool_choice thinking output_config cache_control speed mcp_servers');
const ONLY_GENERATE = names(
  'max_tokens metadata stop_sequences stream temperature top_k top_p service_tier container inference_geo output_format',
);

/** Fields that only a beta makes known. */
const BETA_FIELDS: Readonly<Record<string, RegExp>> = {
  context_management: /^(?:context-management-2025-06-27|compact-2026-01-12)$/,
  compaction: /^compact-2026-09-04$/,
  diagnostics: /^cache-diagnosis-/,
};

export function betasOf(headers: IncomingHttpHeaders): readonly string[] {
  return String(headers['anthropic-beta'] ?? '')
    .split(',')
    .map((beta) => beta.trim());
}

export function checkHeaders(headers: IncomingHttpHeaders): void {
  if (!headers['x-api-key'] && !headers.authorization)
    throw new Rejection('x-api-key header is required', { status: 401 });
  if (!headers['anthropic-version']) throw new Rejection('anthropic-version: header is required');
}

/**
 * Throws what the API would answer to a request that an edit on the way has broken. Fields that no edit touches, such as
 * models, lengths and tools, are taken as they are.
 */
export function checkRequest(body: Fields, betas: readonly string[], action: 'generate' | 'count'): void {
  const allowed = new Set(action === 'count' ? COMMON : [...COMMON, ...ONLY_GENERATE]);
  for (const [field, beta] of Object.entries(BETA_FIELDS))
    if (betas.some((name) => beta.test(name))) allowed.add(field);
  const extra = extraField(body, allowed);
  if (extra !== undefined) throw new Rejection(`${extra}: Extra inputs are not permitted`);
  checkThinking(body, betas);
  checkMessages(body);
  checkMarkers(body);
}

const THINKING: Readonly<Record<string, ReadonlySet<string>>> = {
  enabled: names('type budget_tokens display'),
  adaptive: names('type display'),
  disabled: names('type'),
  between_tools: names('type'),
};

/** Whether the request lets the model think aloud. */
export const isThinking = ({ thinking }: Fields): boolean =>
  isFields(thinking) && (thinking.type === 'enabled' || thinking.type === 'adaptive');

function checkThinking(body: Fields, betas: readonly string[]): void {
  const { thinking } = body;
  if (!isFields(thinking)) return;
  const type = String(thinking.type);
  const known = THINKING[type] ?? [];
  const isBindable = betas.includes(BINDING_BETA) && isThinking(body);
  const extra = extraField(thinking, new Set(isBindable ? [...known, 'block_binding'] : known));
  if (extra !== undefined) throw new Rejection(`thinking.${type}.${extra}: Extra inputs are not permitted`);
  checkBinding(thinking, `thinking.${type}.block_binding`);
}

function checkBinding({ block_binding: binding }: Fields, place: string): void {
  if (!isFields(binding)) return;
  const extra = extraField(binding, names('prefix_mismatch_behavior'));
  if (extra !== undefined) throw new Rejection(`${place}.${extra}: Extra inputs are not permitted`);
  const behavior = binding.prefix_mismatch_behavior ?? 'error';
  if (behavior !== 'error' && behavior !== 'drop_block')
    throw new Rejection(`${place}.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'`);
}

/** What a client set, if anything. */
export function mismatchBehavior({ thinking }: Fields): 'error' | 'drop_block' | undefined {
  const binding = isFields(thinking) && isFields(thinking.block_binding) ? thinking.block_binding : {};
  return (binding.prefix_mismatch_behavior as 'error' | 'drop_block' | undefined) ?? undefined;
}
