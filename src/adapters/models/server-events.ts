/** The data of server-sent events, read as JSON, until the stream ends or says `[DONE]`. */
export async function* readServerEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  for await (const line of readLines(body)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice('data:'.length).trim();
    if (data === '[DONE]') return;
    const event = parse(data);
    if (event !== undefined) yield event;
  }
}

async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/** Keep-alive lines of some servers are not JSON. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
