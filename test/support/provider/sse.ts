/** One event of a stream. */
export interface StreamEvent {
  readonly event?: string;
  readonly data: unknown;
}

export const writeEvent = ({ event, data }: StreamEvent): string => {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
};

/** Cuts a text as a model's tokens arrive, never inside a surrogate pair. */
export function pieces(text: string, size = 24): string[] {
  const characters = Array.from(text);
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(''));
  return parts;
}
