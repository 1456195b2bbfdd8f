import { type Fields, isRecord } from '../formats/lens.ts';

/** An image in base64. */
export interface StoredImage {
  /** The media type, such as `image/png`. */
  readonly mimeType: string;
  /** The image in base64. */
  readonly data: string;
}

/** The text of a result, with a note in place of each image, and the images. */
export interface TextAndImages {
  readonly text: string;
  readonly images: readonly StoredImage[];
}

/** A text with images: the answer of `recall` for a result with images. */
export class TextWithImages implements TextAndImages {
  /** The text, with a note in place of each image. */
  readonly text: string;
  /** The images in the order of their notes. */
  readonly images: readonly StoredImage[];

  constructor({ text, images }: TextAndImages) {
    this.text = text;
    this.images = images;
  }
}

/** The images in the stored content of a result, in any format. Undefined for a text without any. */
export function imagesIn(stored: string): TextAndImages | undefined {
  if (!/^\s*[[{]/.test(stored) || !/image\/|"image":/.test(stored)) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(stored);
  } catch {
    return undefined;
  }
  const images: StoredImage[] = [];
  const shown = withoutImages(content, images);
  return images.length === 0 ? undefined : { text: toText(shown), images };
}

/** Deeper content is not a list of blocks. */
const MOST_DEPTH = 8;

/** A copy with a note in place of each image. The images are added to `images`. */
function withoutImages(value: unknown, images: StoredImage[], depth = 0): unknown {
  if (!isRecord(value) || depth > MOST_DEPTH) return value;
  const image = imageOf(value);
  if (image) return noteOf(image, images.push(image));
  if (Array.isArray(value)) return value.map((item) => withoutImages(item, images, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutImages(item, images, depth + 1)]));
}

const noteOf = ({ mimeType }: StoredImage, number: number): string => `[image ${number}: ${mimeType}]`;

/** The image in a block, as the formats write it: a data URL, or data with a media type. */
function imageOf(block: Fields): StoredImage | undefined {
  const { source, inlineData = block.inline_data, image_url: address, image = address } = block;
  if (isRecord(image) && isRecord(image.source)) return fromConverse(image.format, image.source);
  if (isRecord(source)) return imageFrom(source);
  if (isRecord(inlineData)) return imageFrom(inlineData);
  return fromAddress(isRecord(image) ? image.url : image) ?? imageFrom(block);
}

function imageFrom({ data, url, media_type, mimeType = media_type, mediaType = mimeType, mime_type }: Fields) {
  const type = mediaType ?? mime_type;
  if (typeof data !== 'string' || typeof type !== 'string') return fromAddress(url);
  return TYPE.test(type) && BASE64.test(data) ? { mimeType: type, data } : undefined;
}

function fromConverse(format: unknown, { bytes }: Fields): StoredImage | undefined {
  return imageFrom({ mimeType: `image/${format}`, data: bytes });
}

function fromAddress(address: unknown): StoredImage | undefined {
  if (typeof address !== 'string' || !address.startsWith('data:image/')) return undefined;
  const [, mimeType = '', data = ''] = /^data:([^;,]+);base64,(.*)$/s.exec(address) ?? [];
  return TYPE.test(mimeType) && BASE64.test(data) ? { mimeType, data } : undefined;
}

const TYPE = /^image\/[\w.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The texts of blocks, each on lines of its own; JSON for everything else. */
function toText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(toText).join('\n');
  if (isRecord(content) && typeof content.text === 'string') return content.text;
  return JSON.stringify(content);
}
