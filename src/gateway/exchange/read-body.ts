import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { requestLimits } from '../../limits.ts';
import { zstd } from './zstd.ts';

/** The whole body, or undefined if it is too large: then the request can still be read from its first byte. */
export function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= mostBytes) return;
      request.pause();
      request.off('data', onData);
      request.unshift(Buffer.concat(chunks.splice(0)));
      resolve(undefined);
    };
    request.on('data', onData);
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, bytes)));
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client went away before its request was complete'));
    });
  });
}

const decoders: Readonly<Record<string, (body: Buffer, most: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: (body, most) => promisify(isRawDeflate(body) ? inflateRaw : inflate)(body, most),
  ...(zstd ? { zstd: zstd.decode } : {}),
};

/** Some clients and servers send the bare stream: the first four bits show it. */
export const isRawDeflate = (bytes: Buffer): boolean => ((bytes[0] ?? 0) & 15) !== 8;

/** The body without its compression. Undefined if it cannot be decoded: unknown, damaged, too large, or a bomb. */
export async function decodeBody(body: Buffer, encoding: string, mostBytes: number): Promise<Buffer | undefined> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decode = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  const maxOutputLength = Math.min(mostBytes, body.length * requestLimits.bodyRatio);
  const decoded = await decode?.(body, { maxOutputLength }).catch(() => undefined);
  // Some versions of Node decode a damaged zstd body to nothing.
  return decoded?.length === 0 && body.length > 0 ? undefined : decoded;
}
