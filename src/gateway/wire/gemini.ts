import { gemini as format } from '../../formats/gemini.ts';
import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { priceLists } from '../../plan/prices.ts';
import { anyMessage, partAt, type Wire } from './wire.ts';

/** Google's generateContent. */
export const gemini = {
  home: {
    name: 'gemini',
    telemetryName: 'gcp.gemini',
    address: 'https://generativelanguage.googleapis.com',
    signs: {
      // Its endpoint for OpenAI's clients.
      isOwn: ({ url }) => /^\/v1(?:alpha|beta)\/openai\//.test(url),
      headers: ['x-goog-api-key'],
      path: /^\/v1(?:alpha|beta)/,
      query: /[?&]key=/,
    },
  },
  operation: 'generate_content',
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
  // Name and id of a response stay as written; the files next to it are masked with it.
  resultMembers: { content: 'response', attachments: 'parts', whole: ['inlineData', 'fileData'] },
  asksForJson: (field) => {
    const config = (field('generationConfig') ?? field('generation_config') ?? {}) as Fields;
    return (config.responseMimeType ?? config.response_mime_type) === 'application/json';
  },
  usageSigns: ['usage'],
  usageIn: (event) => {
    const { usageMetadata, modelVersion } = isRecord(event.response) ? event.response : event;
    return { usage: usageMetadata, model: modelVersion };
  },
  endSigns: ['finishReason', 'unctionCall'],
  endIn: (event) => {
    const { finishReason: reason, content } = partAt(
      isRecord(event.response) ? event.response : event,
      'candidates',
      0,
    );
    const { parts } = (content ?? {}) as Fields;
    return {
      isComplete: typeof reason === 'string' ? reason === 'STOP' : undefined,
      hasCall: Array.isArray(parts) && parts.some((part) => isRecord(part) && isRecord(part.functionCall)),
    };
  },
} as const satisfies Wire;
