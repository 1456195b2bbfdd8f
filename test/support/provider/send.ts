import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Exchange } from './exchange.ts';
import type { Fault } from './faults.ts';
import { writeEvent } from './sse.ts';

type Headers = Readonly<Record<string, string>>;

interface Send {
  readonly headers: Headers;
  readonly fault: Fault | undefined;
  /** How Gemini frames a stream: as events, or as one list. */
  readonly framing: 'events' | 'gemini-events' | 'list';
  readonly acceptsGzip: boolean;
}

/** Sends an answer whole or as a stream, with whatever is to go wrong on the way. */
export async function sendExchange(response: ServerResponse, exchange: Exchange, send: Send): Promise<void> {
  const { fault, headers } = send;
  if (fault?.kind === 'slow-headers') await wait(fault.delayMs);
  if (fault?.kind === 'huge') return sendHuge(response, fault.bytes, headers);
  if (fault?.kind === 'garbage') return sendGarbage(response, exchange, headers);
  if (exchange.streams) return sendStream(response, exchange, send);
  return sendWhole(response, exchange, send);
}

async function sendWhole(response: ServerResponse, { json }: Exchange, send: Send): Promise<void> {
  const { fault, headers, acceptsGzip } = send;
  const text = Buffer.from(JSON.stringify(json));
  const bytes = acceptsGzip ? gzipSync(text) : text;
  response.writeHead(200, {
    ...headers,
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...(acceptsGzip ? { 'content-encoding': 'gzip', vary: 'accept-encoding' } : {}),
  });
  if (fault?.kind === 'reset' || fault?.kind === 'half-stream') {
    await put(response, bytes.subarray(0, fault.kind === 'reset' ? 0 : bytes.length / 2));
    return breakOff(response);
  }
  response.end(bytes);
}

async function sendStream(response: ServerResponse, { events }: Exchange, send: Send): Promise<void> {
  const { fault, headers, framing } = send;
  const type = framing === 'list' ? 'application/json' : 'text/event-stream';
  response.writeHead(200, { ...headers, 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' });
  response.flushHeaders();
  if (fault?.kind === 'reset') return breakOff(response);
  const parts = frame(events, framing);
  const half = Math.ceil(parts.length / 2);
  for (const [index, part] of parts.entries()) {
    if (response.destroyed) return;
    if (fault?.kind === 'half-stream' && index === half) {
      await put(response, part.slice(0, part.length / 2));
      return breakOff(response);
    }
    if (fault?.kind === 'slow-stream') await wait(fault.delayMs);
    await put(response, part);
  }
  response.end();
}

function frame(events: Exchange['events'], framing: Send['framing']): string[] {
  if (framing === 'events') return events.map(writeEvent);
  if (framing === 'gemini-events') return events.map(({ data }) => `data: ${JSON.stringify(data)}\r\n\r\n`);
  const last = events.length - 1;
  return events.map(
    ({ data }, i) => `${i === 0 ? '[' : ''}${JSON.stringify(data, undefined, 2)}${i === last ? '\n]\n' : '\n,\n'}`,
  );
}

/** Waits where the reader is slow. */
async function put(response: ServerResponse, part: string | Uint8Array): Promise<void> {
  if (part.length === 0 || response.destroyed || response.write(part)) return;
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      response.off('drain', goOn).off('close', goOn);
      resolve();
    };
    response.on('drain', goOn).on('close', goOn);
  });
}

/** A reset, once what was written has left. */
async function breakOff(response: ServerResponse): Promise<void> {
  await wait(5);
  response.socket?.resetAndDestroy();
}

async function sendGarbage(response: ServerResponse, { streams }: Exchange, headers: Headers): Promise<void> {
  response.writeHead(200, { ...headers, 'content-type': streams ? 'text/event-stream' : 'application/json' });
  response.end(Buffer.from([0xff, 0xfe, 0x00, 0x7b, 0x22, 0xc3, 0x28, 0x0a, 0x0a, 0x64, 0x61, 0x74, 0x61, 0x3a, 0x7b]));
}

const CHUNK = 'x'.repeat(65_536);

async function sendHuge(response: ServerResponse, bytes: number, headers: Headers): Promise<void> {
  response.writeHead(200, { ...headers, 'content-type': 'application/json' });
  await put(response, '{"type":"message","role":"assistant","content":[{"type":"text","text":"');
  for (let left = bytes; left > 0 && !response.destroyed; left -= CHUNK.length)
    await put(response, CHUNK.slice(0, left));
  response.end('"}]}');
}
