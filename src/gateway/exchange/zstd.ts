import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { requestLimits } from '../../limits.ts';

/** Decompresses zstd. */
interface Zstd {
  decode(body: Buffer, most: { maxOutputLength: number }): Promise<Buffer>;
  createDecoder(): zlib.Unzip;
}

/** The part of `node:zlib` that Node has from 22.15 on. The types of Node 20 do not know it. */
interface ZstdModule {
  readonly zstdDecompress?: (body: Buffer, options: object, done: (error: Error | null, bytes: Buffer) => void) => void;
  readonly createZstdDecompress?: (options: object) => zlib.Unzip;
  readonly constants: { readonly ZSTD_d_windowLogMax?: number };
}

/** Undefined if Node cannot decompress it. */
export const zstd: Zstd | undefined = zstdOf(zlib as unknown as ZstdModule);

function zstdOf({ zstdDecompress, createZstdDecompress, constants }: ZstdModule): Zstd | undefined {
  const { ZSTD_d_windowLogMax: windowLogMax } = constants;
  if (!zstdDecompress || !createZstdDecompress || windowLogMax === undefined) return undefined;
  const bounds = { params: { [windowLogMax]: Math.log2(requestLimits.zstdWindowBytes) } };
  return {
    decode: (body, most) => promisify(zstdDecompress)(body, { ...most, ...bounds }),
    createDecoder: () => createZstdDecompress(bounds),
  };
}

/** Whether this content coding is zstd, and Node cannot decompress it. */
export const isUnknownZstd = (encoding: string): boolean => !zstd && encoding.trim().toLowerCase() === 'zstd';

const UNCHANGED: Readonly<Record<string, string>> = {};

/** The changed header, without codings in which usage could not be read. */
export function readableEncodings(accepted: string | readonly string[] | undefined): Readonly<Record<string, string>> {
  if (zstd || accepted === undefined) return UNCHANGED;
  const codings = String(accepted).split(',');
  const left = codings.filter((one) => !isUnknownZstd(one.split(';', 1)[0] ?? ''));
  if (left.length === codings.length) return UNCHANGED;
  // An empty header would be left out, and without it every coding may come.
  return { 'accept-encoding': left.join(',').trim() || 'identity' };
}
