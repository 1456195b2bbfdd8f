import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { type Fields, isFields, loneSurrogate } from './json.ts';
import { Rejection } from './rejection.ts';
import type { Api } from './route.ts';

/** The bytes of a request, as they came. */
export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/** Undoes `content-encoding`. */
export function decode(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined || encoding === 'identity') return bytes;
  const decoder = DECODERS[encoding];
  if (!decoder) throw new Rejection(`Unsupported content-encoding: ${encoding}`, { status: 415 });
  return decoder(bytes);
}

const MOST_BYTES: Readonly<Record<Api, number>> = {
  anthropic: 32 * 2 ** 20,
  'openai-chat': 64 * 2 ** 20,
  'openai-responses': 64 * 2 ** 20,
  gemini: 20 * 2 ** 20,
};

export function checkBytes(api: Api, bytes: Buffer, mostBytes = MOST_BYTES[api]): void {
  if (bytes.length <= mostBytes) return;
  if (api === 'anthropic') throw new Rejection('Request exceeds the maximum size', { status: 413 });
  if (api === 'gemini') throw new Rejection(`Request payload size exceeds the limit: ${mostBytes} bytes.`);
  throw new Rejection('Request body is too large.', { status: 413 });
}

/** Reads JSON as strictly as the provider, and refuses it in its words. */
export function parseBody(api: Api, bytes: Buffer): Fields {
  if (!isUtf8(bytes)) throw badJson(api, 'str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)');
  const text = bytes.toString('utf8');
  const half = api === 'anthropic' ? loneSurrogate(text) : -1;
  if (half >= 0) throw badJson(api, `no low surrogate in string: line 1 column ${half + 1} (char ${half})`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw badJson(api, error instanceof Error ? error.message : String(error));
  }
  if (!isFields(body)) throw badJson(api, 'expected an object');
  return body;
}

function badJson(api: Api, reason: string): Rejection {
  if (api === 'anthropic') return new Rejection(`The request body is not valid JSON: ${reason}`);
  if (api === 'gemini') return new Rejection(`Invalid JSON payload received. ${reason}`);
  return new Rejection(
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
      'correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble ' +
      'figuring out how to fix this, please contact us through our help center at help.openai.com.)',
  );
}
