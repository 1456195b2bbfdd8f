import { anthropic as format } from '../../formats/anthropic.ts';
import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { priceLists } from '../../plan/prices.ts';
import { parseJson } from '../bytes/json-scan.ts';
import { boundThinking } from './bound-thinking.ts';
import { readBlocks } from './cache-markers.ts';
import { anyMessage, partAt, type Wire } from './wire.ts';

/** Anthropic's Messages API. */
export const anthropic = {
  home: {
    name: 'anthropic',
    address: 'https://api.anthropic.com',
    signs: {
      headers: ['anthropic-version', 'anthropic-beta', 'x-api-key'],
      path: /^\/v1\/messages/,
    },
  },
  routes: [{ path: /\/v1\/messages$/ }, { path: /\/v1\/messages\/count_tokens$/, isCountTokens: true }],
  format: anyMessage(format),
  messages: 'messages',
  overhead: ['system', 'tools'],
  resultSigns: ['tool_result', 'cache_control'],
  prices: priceLists['anthropic-5m'],
  answers: (message, [, index]) => asString(partAt(message, 'content', index).tool_use_id) ?? '',
  // Claude Code: a JSON text with the session in it; in earlier versions `user_…_account_…_session_…`.
  sessionIn: (field) => {
    const { user_id: user } = (field('metadata') ?? {}) as Fields;
    const text = asString(user) ?? '';
    const parsed = text.startsWith('{') ? parseJson(text) : undefined;
    return isRecord(parsed) ? parsed.session_id : /_session_([\w-]+)$/.exec(text)?.[1];
  },
  readBlocks,
  asksForJson: (field) =>
    isRecord(field('output_format')) || isRecord((field('output_config') as Fields | undefined)?.format),
  placesMarkers: true,
  boundThinking,
  usageSigns: ['usage', 'input_transformations'],
  usageIn: ({ usage, model, message, input_transformations }) => {
    const inner = isRecord(message) ? message : {};
    return {
      usage: inner.usage ?? usage,
      model: inner.model ?? model,
      droppedThinking: inner.input_transformations ?? input_transformations,
    };
  },
  // The event with the reason has usage.
  endSigns: [],
  endIn: ({ stop_reason, delta }) => {
    const reason = (delta as { readonly stop_reason?: unknown } | null | undefined)?.stop_reason ?? stop_reason;
    return typeof reason === 'string' ? { isComplete: reason === 'end_turn' || reason === 'stop_sequence' } : {};
  },
} as const satisfies Wire;
