import { gemini as format } from '../../formats/gemini.ts';
import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { priceLists } from '../../plan/prices.ts';
import { anyMessage, partAt, type Wire } from './wire.ts';

/** Google's generateContent. */
export const gemini = {
  home: {
    name: 'gemini',
    address: 'https://generativelanguage.googleapis.com',
    signs: {
      // Its endpoint for OpenAI's clients.
      isOwn: ({ url }) => /^\/v1(?:alpha|beta)\/openai\//.test(url),
      headers: ['x-goog-api-key'],
      path: /^\/v1(?:alpha|beta)/,
      query: /[?&]key=/,
    },
  },
  routes: [{ path: /\/models\/[^/]+:(?:stream)?[gG]enerateContent$/ }],
  format: anyMessage(format),
  messages: 'contents',
  overhead: ['systemInstruction', 'system_instruction', 'tools'],
  resultSigns: ['unctionResponse', 'unction_response'],
  prices: priceLists.gemini,
  modelInPath: /\/models\/([^/:]+)/,
  answers: (content, [, index]) => {
    const { functionResponse: answer } = partAt(content, 'parts', index);
    return isRecord(answer) ? (asString(answer.id) ?? asString(answer.name) ?? '') : '';
  },
  // Name and id of a response stay as they were written; the files beside it go with it.
  resultMembers: { content: 'response', attachments: 'parts', whole: ['inlineData', 'fileData'] },
  asksForJson: (valueIn) => {
    const config = (valueIn('generationConfig') ?? valueIn('generation_config') ?? {}) as Fields;
    return (config.responseMimeType ?? config.response_mime_type) === 'application/json';
  },
  usageSigns: ['usage'],
  usageIn: (event) => {
    const { usageMetadata, modelVersion } = isRecord(event.response) ? event.response : event;
    return { usage: usageMetadata, model: modelVersion };
  },
} as const satisfies Wire;
