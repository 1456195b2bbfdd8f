import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Content, Part } from '@google/genai';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';

/** A request of generateContent as the server gets it. */
export interface Received {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: {
    readonly contents: Content[];
    readonly tools?: { functionDeclarations?: { name: string; parametersJsonSchema?: unknown }[] }[];
    readonly systemInstruction?: Content;
  };
}

/** A server that answers generateContent, whole or as a stream, while some work is done. An answer may be a status. */
export async function withGemini<T>(
  answer: (request: Received) => ScriptedReply | number,
  work: (baseUrl: string) => Promise<T>,
  { inChunks = false } = {},
): Promise<T> {
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request;
    const reply = answer({ url, headers, body: JSON.parse(await text(request)) });
    if (typeof reply === 'number') return response.writeHead(reply).end('{}');
    const isStream = url.includes(':streamGenerateContent');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    const chunks = inChunks ? chunksOf(reply) : [reply];
    const json = chunks.map((chunk) => JSON.stringify(toResponse(chunk)));
    response.end(isStream ? json.map((chunk) => `data: ${chunk}\n\n`).join('') : json[0]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Models stream text first, then calls. */
const chunksOf = ({ calls = [], ...said }: ScriptedReply): ScriptedReply[] => [
  said,
  ...(calls.length > 0 ? [{ calls }] : []),
];

/** The request in the words of the suite. */
export const toSent = ({ body: { contents, tools = [] } }: Received): SentRequest => ({
  messages: contents,
  tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
});

const toResponse = (reply: ScriptedReply) => ({
  candidates: [{ content: toContent(reply), finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
});

/** Gemini signs the first call of a reply, and thoughts where it shows them. */
function toContent({ text, reasoning, calls = [] }: ScriptedReply): Content & { parts: Part[] } {
  return {
    role: 'model',
    parts: [
      ...(reasoning ? [{ text: reasoning.text, thought: true, thoughtSignature: reasoning.signature }] : []),
      ...(text ? [{ text }] : []),
      ...calls.map(({ id, tool, input }, i) => ({
        functionCall: { id, name: tool, args: { ...input } },
        ...(i === 0 ? { thoughtSignature: `signed ${id}` } : {}),
      })),
    ],
  };
}
