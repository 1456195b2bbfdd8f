import type { Context } from './run.ts';

/** The context with other texts for some of its results. */
export function withTexts(context: Context, texts: ReadonlyMap<number, string>): Context {
  let result = -1;
  const messages = context.messages.map((message) => {
    if (message.role !== 'tool') return message;
    const content = texts.get(++result);
    return content === undefined ? message : { ...message, content };
  });
  return { ...context, messages };
}
