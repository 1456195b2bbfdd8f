import type { IncomingHttpHeaders } from 'node:http';
import { extraField, type Fields, fieldsOf, isFields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { checkMarkers } from './check-markers.ts';
import { checkMessages } from './check-messages.ts';
import { isAdaptiveOnly, MOST_OUTPUT_TOKENS } from './models.ts';
import { unknownTag } from './unknown-tag.ts';

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
  thread: /^message-threads-2026-08-12$/,
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

/** Throws what the API would answer to a request that is not as it should be. */
export function checkRequest(body: Fields, betas: readonly string[], action: 'generate' | 'count'): void {
  const allowed = new Set(action === 'count' ? COMMON : [...COMMON, ...ONLY_GENERATE]);
  for (const [field, beta] of Object.entries(BETA_FIELDS))
    if (betas.some((name) => beta.test(name))) allowed.add(field);
  const required = action === 'count' ? ['model', 'messages'] : ['model', 'max_tokens', 'messages'];
  for (const field of required) if (body[field] === undefined) throw new Rejection(`${field}: Field required`);
  const extra = extraField(body, allowed);
  if (extra !== undefined) throw new Rejection(`${extra}: Extra inputs are not permitted`);
  if (typeof body.model !== 'string' || !body.model.startsWith('claude'))
    throw new Rejection(`model: ${String(body.model)}`, { status: 404 });
  if (action === 'generate') checkLengths(body);
  checkThinking(body, betas);
  checkTools(body.tools);
  checkMessages(body);
  checkMarkers(body);
}

function checkLengths({ model, max_tokens: most }: Fields): void {
  if (typeof most !== 'number' || !Number.isInteger(most))
    throw new Rejection('max_tokens: Input should be a valid integer');
  if (most < 1) throw new Rejection('max_tokens: must be greater than or equal to 1');
  if (most > MOST_OUTPUT_TOKENS) {
    const limit = `${MOST_OUTPUT_TOKENS}, which is the maximum allowed number of output tokens for ${model}`;
    throw new Rejection(`max_tokens: ${most} > ${limit}`);
  }
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
  const { thinking, max_tokens: most, temperature } = body;
  if (!isFields(thinking)) return;
  const type = String(thinking.type);
  const known = THINKING[type];
  if (!known) throw new Rejection(unknownTag('thinking', type, Object.keys(THINKING)));
  const isBindable = betas.includes(BINDING_BETA) && isThinking(body);
  const extra = extraField(thinking, new Set(isBindable ? [...known, 'block_binding'] : known));
  if (extra !== undefined) throw new Rejection(`thinking.${type}.${extra}: Extra inputs are not permitted`);
  checkBinding(thinking, `thinking.${type}.block_binding`);
  if (type === 'enabled' && isAdaptiveOnly(String(body.model)))
    throw new Rejection(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    );
  if (type === 'enabled') {
    const budget = Number(thinking.budget_tokens);
    if (!(budget >= 1024))
      throw new Rejection('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
    if (typeof most === 'number' && most <= budget)
      throw new Rejection('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
  if (isThinking(body) && typeof temperature === 'number' && temperature !== 1)
    throw new Rejection('`temperature` may only be set to 1 when thinking is enabled.');
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

const TOOL = names(
  'type name description input_schema cache_control strict defer_loading eager_input_streaming input_examples allowed_callers',
);

function checkTools(tools: unknown): void {
  const seen = new Set<unknown>();
  for (const [index, tool] of fieldsOf(tools).entries()) {
    if (seen.has(tool.name)) throw new Rejection('tools: Tool names must be unique.');
    seen.add(tool.name);
    if (tool.type !== undefined && tool.type !== 'custom') continue;
    if (typeof tool.name !== 'string' || !/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name)) {
      const text = `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
      throw new Rejection(text);
    }
    if (!isFields(tool.input_schema)) throw new Rejection(`tools.${index}.custom.input_schema: Field required`);
    const extra = extraField(tool, TOOL);
    if (extra !== undefined) throw new Rejection(`tools.${index}.custom.${extra}: Extra inputs are not permitted`);
  }
}
