import { anthropic } from '../formats/anthropic.ts';
import { gemini } from '../formats/gemini.ts';
import { asString, type Fields, isRecord } from '../formats/lens.ts';
import { openaiChat } from '../formats/openai-chat.ts';
import { openaiResponses } from '../formats/openai-responses.ts';
import type { Format } from '../message.ts';
import type { Api } from './decide.ts';
import { createGatewayFormat } from './gateway-format.ts';

/** Where an API keeps what matters here. */
export interface ApiShape {
  readonly format: Format<object>;
  /** The field with the messages. */
  readonly list: string;
  /** The fields that count towards the size beside the messages. */
  readonly beside: readonly string[];
  /** The id of the call that a result answers, as the result itself tells it. */
  answers(message: Fields, path: readonly (string | number)[]): string;
}

const at = (message: Fields, key: string, index: unknown): Fields => {
  const list = message[key];
  const part = Array.isArray(list) ? list[index as number] : undefined;
  return isRecord(part) ? part : {};
};

export const apiShapes: Readonly<Record<Api, ApiShape>> = {
  anthropic: {
    format: createGatewayFormat(anthropic),
    list: 'messages',
    beside: ['system', 'tools'],
    answers: (message, [, index]) => asString(at(message, 'content', index).tool_use_id) ?? '',
  },
  'openai-chat': {
    format: createGatewayFormat(openaiChat),
    list: 'messages',
    beside: ['tools', 'functions'],
    answers: (message) => asString(message.tool_call_id) ?? asString(message.name) ?? '',
  },
  'openai-responses': {
    format: createGatewayFormat(openaiResponses),
    list: 'input',
    beside: ['instructions', 'tools'],
    answers: (item) => asString(item.call_id) ?? asString(item.id) ?? '',
  },
  gemini: {
    format: createGatewayFormat(gemini),
    list: 'contents',
    beside: ['systemInstruction', 'system_instruction', 'tools'],
    answers: (content, [, index]) => {
      const { functionResponse: answer } = at(content, 'parts', index);
      return isRecord(answer) ? (asString(answer.id) ?? asString(answer.name) ?? '') : '';
    },
  },
};
