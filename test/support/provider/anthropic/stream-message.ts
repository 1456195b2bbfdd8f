import { pieces, type StreamEvent } from '../sse.ts';
import type { ReplyBlock, WholeMessage } from './messages-api.ts';

/** The events of a message, in the order and the shape of the real API. */
export function streamMessage(message: WholeMessage): StreamEvent[] {
  const { content, stop_reason: stopReason, usage, context_management: management, ...rest } = message;
  const start = { ...rest, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage;
  return [
    event('message_start', { message: start }),
    ...content.flatMap((block, index) => blockEvents(block, index)),
    event('message_delta', {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens },
      ...(management === undefined ? {} : { context_management: management }),
    }),
    event('message_stop', {}),
  ];
}

const event = (type: string, fields: object): StreamEvent => ({ event: type, data: { type, ...fields } });

function blockEvents(block: ReplyBlock, index: number): StreamEvent[] {
  const { start, deltas } = SHAPES[block.type](block);
  const begin = event('content_block_start', { index, content_block: start });
  return [
    begin,
    ...(index === 0 ? [event('ping', {})] : []),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
}

interface BlockShape {
  readonly start: object;
  readonly deltas: readonly object[];
}

const SHAPES: Readonly<Record<ReplyBlock['type'], (block: ReplyBlock) => BlockShape>> = {
  text: ({ text }) => ({
    start: { type: 'text', text: '' },
    deltas: pieces(String(text)).map((piece) => ({ type: 'text_delta', text: piece })),
  }),
  thinking: ({ thinking, signature }) => ({
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces(String(thinking)).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature },
    ],
  }),
  tool_use: ({ id, name, input }) => ({
    start: { type: 'tool_use', id, name, input: {} },
    deltas: ['', ...pieces(JSON.stringify(input))].map((json) => ({ type: 'input_json_delta', partial_json: json })),
  }),
};
