import { anthropic as format } from '../../formats/anthropic.ts';
import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { priceLists } from '../../plan/prices.ts';
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
  readBlocks,
  asksForJson: (valueIn) =>
    isRecord(valueIn('output_format')) || isRecord((valueIn('output_config') as Fields | undefined)?.format),
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
} as const satisfies Wire;
