import type { Media } from '../message.ts';

/** The vendor whose formula sizes an image. */
export type Vendor = 'anthropic' | 'openai' | 'gemini';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Sizes images and files by the provider's formula: never by its base64 length, never as zero. */
export function sizeMedia(vendor: Vendor, mediaType: string, data: unknown): Media {
  const bytes = byteLength(data);
  if (mediaType.startsWith('image')) return { type: 'image', bytes, tokens: imageTokens(vendor, imageSize(data)) };
  if (mediaType.startsWith('audio')) return { type: 'audio', bytes, tokens: Math.ceil((bytes / 16_000) * 32) + 32 };
  if (mediaType.startsWith('video')) return { type: 'video', bytes, tokens: Math.ceil((bytes / 250_000) * 263) + 263 };
  return { type: 'file', bytes, tokens: pages(bytes) * (vendor === 'gemini' ? 258 : 2000) };
}

/** A block of a type this version does not know: as large as its JSON. */
export function sizeUnknown(block: unknown): Media {
  const bytes = jsonLength(block);
  return { type: 'other', bytes, tokens: Math.max(1, Math.ceil(bytes / 4)) };
}

/** Encrypted reasoning is sent as base64 of about as many bytes as the text had. */
export function sizeEncrypted(data: unknown): Media {
  const bytes = byteLength(data);
  return { type: 'other', bytes, tokens: Math.max(1, Math.ceil(bytes / 4)) };
}

function imageTokens(vendor: Vendor, size: Size | undefined): number {
  if (vendor === 'anthropic') return size ? anthropicImage(size) : 1600;
  if (vendor === 'openai') return size ? openaiImage(size) : 765;
  return size ? geminiImage(size) : 258;
}

/** Scaled to at most 1568 on the long edge, then width × height / 750. */
function anthropicImage({ width, height }: Size): number {
  const scale = Math.min(1, 1568 / Math.max(width, height));
  return clamp(Math.ceil((width * scale * height * scale) / 750), 1, 1600);
}

/** Scaled into 2048 × 2048, then to 768 on the short edge; 85 and 170 for each tile of 512. */
function openaiImage({ width, height }: Size): number {
  const fit = Math.min(1, 2048 / Math.max(width, height));
  const short = Math.min(1, 768 / (Math.min(width, height) * fit));
  const tiles = Math.ceil((width * fit * short) / 512) * Math.ceil((height * fit * short) / 512);
  return 85 + 170 * clamp(tiles, 1, 16);
}

/** 258 up to 384 × 384, else 258 for each tile of 768. */
function geminiImage({ width, height }: Size): number {
  if (width <= 384 && height <= 384) return 258;
  return 258 * clamp(Math.ceil(width / 768) * Math.ceil(height / 768), 1, 64);
}

const pages = (bytes: number): number => Math.max(1, Math.ceil(bytes / 100_000));
const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

function byteLength(data: unknown): number {
  if (typeof data === 'string') return Math.floor((data.length - base64Start(data)) * 0.75);
  if (ArrayBuffer.isView(data) || data instanceof ArrayBuffer) return data.byteLength;
  return 0;
}

function jsonLength(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}

const base64Start = (text: string): number => (text.startsWith('data:') ? text.indexOf(',', 0) + 1 : 0);

/** Width and height from the first bytes of a PNG, GIF, WebP or JPEG; undefined for a URL or anything else. */
function imageSize(data: unknown): Size | undefined {
  const bytes = firstBytes(data);
  const size = bytes && (pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes));
  return size && size.width > 0 && size.height > 0 ? size : undefined;
}

const HEAD_BYTES = 48_000;

function firstBytes(data: unknown): Uint8Array | undefined {
  if (data instanceof ArrayBuffer) return new Uint8Array(data, 0, Math.min(HEAD_BYTES, data.byteLength));
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer, data.byteOffset, Math.min(HEAD_BYTES, data.byteLength));
  }
  if (typeof data !== 'string' || /^https?:/.test(data)) return undefined;
  const start = base64Start(data);
  return fromBase64(data.slice(start, start + (HEAD_BYTES / 3) * 4));
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** The value of each letter by its code. All other characters are skipped. */
const VALUES = Int8Array.from({ length: 128 }, (_, code) => LETTERS.indexOf(String.fromCharCode(code)));

function fromBase64(text: string): Uint8Array {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let held = 0;
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const value = VALUES[text.charCodeAt(i)] ?? -1;
    if (value < 0) continue;
    bits = ((bits << 6) | value) & 0xffffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[length++] = (bits >> held) & 0xff;
  }
  return bytes.subarray(0, length);
}

const at = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0;
const big16 = (bytes: Uint8Array, i: number): number => (at(bytes, i) << 8) | at(bytes, i + 1);
const little16 = (bytes: Uint8Array, i: number): number => at(bytes, i) | (at(bytes, i + 1) << 8);
const ascii = (bytes: Uint8Array, from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to));

function pngSize(bytes: Uint8Array): Size | undefined {
  if (ascii(bytes, 1, 4) !== 'PNG') return undefined;
  return { width: big16(bytes, 16) * 65536 + big16(bytes, 18), height: big16(bytes, 20) * 65536 + big16(bytes, 22) };
}

function gifSize(bytes: Uint8Array): Size | undefined {
  return ascii(bytes, 0, 3) === 'GIF' ? { width: little16(bytes, 6), height: little16(bytes, 8) } : undefined;
}

function webpSize(bytes: Uint8Array): Size | undefined {
  if (ascii(bytes, 8, 12) !== 'WEBP') return undefined;
  const chunk = ascii(bytes, 12, 16);
  if (chunk === 'VP8 ') return { width: little16(bytes, 26) & 0x3fff, height: little16(bytes, 28) & 0x3fff };
  if (chunk === 'VP8X') return { width: little16(bytes, 24) + 1, height: little16(bytes, 27) + 1 };
  const packed = little16(bytes, 21) | (little16(bytes, 23) << 16);
  return { width: (packed & 0x3fff) + 1, height: ((packed >> 14) & 0x3fff) + 1 };
}

function jpegSize(bytes: Uint8Array): Size | undefined {
  if (big16(bytes, 0) !== 0xffd8) return undefined;
  for (let i = 2; i + 9 < bytes.length; i += 2 + big16(bytes, i + 2)) {
    const marker = at(bytes, i + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: big16(bytes, i + 7), height: big16(bytes, i + 5) };
  }
  return undefined;
}
