/** A JSON object whose fields nobody has checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects in a list; nothing if it is no list. */
export const fieldsOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

export const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The first field that is not allowed. */
export const extraField = (fields: Fields, allowed: ReadonlySet<string>): string | undefined =>
  Object.keys(fields).find((key) => !allowed.has(key));

export const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** The place of half of a surrogate pair, which no strict reader of JSON takes. */
export const loneSurrogate = (text: string): number =>
  text.search(/\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/i);
