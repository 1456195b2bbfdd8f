/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream as they come, and `undefined` for bytes that complete no event: a comment shows that the connection is
 * alive. `EventSource` reads the same, but cannot send the header with the token.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent | undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // A carriage return at the very end may be the first half of a line end.
      const text = rest + decoder.decode(value, { stream: true });
      const held = text.endsWith('\r') ? '\r' : '';
      const blocks = (held ? text.slice(0, -1) : text).replaceAll(/\r\n?/g, '\n').split('\n\n');
      rest = (blocks.pop() ?? '') + held;
      yield undefined;
      for (const block of blocks) {
        const event = toEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function toEvent(block: string): StreamEvent | undefined {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(\w+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
  }
  return data.length > 0 ? { event, data: data.join('\n') } : undefined;
}
