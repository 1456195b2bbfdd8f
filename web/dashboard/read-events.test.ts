import { describe, expect, it } from 'vitest';
import { readEvents, type StreamEvent } from './read-events.ts';

async function eventsOf(chunks: readonly Uint8Array[]): Promise<StreamEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: StreamEvent[] = [];
  for await (const event of readEvents(body)) if (event) events.push(event);
  return events;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('readEvents', () => {
  const stream = ': hello\n\nevent: receipt\ndata: {"a":"é→🙂"}\n\n: still here\n\ndata: one\ndata:two\n\n';
  const expected = [
    { event: 'receipt', data: '{"a":"é→🙂"}' },
    { event: 'message', data: 'one\ntwo' },
  ];

  it('reads names and data, and no comments', async () => {
    expect(await eventsOf([bytes(stream)])).toEqual(expected);
  });

  it('reads the same however the bytes are cut, with any kind of line end', async () => {
    for (const text of [stream, stream.replaceAll('\n', '\r\n'), stream.replaceAll('\n', '\r')]) {
      const all = bytes(text);
      for (const size of [1, 2, 3, 7, 20]) {
        const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
          all.subarray(i * size, (i + 1) * size),
        );
        // The last carriage return could be half of a line end: only what follows tells.
        expect(await eventsOf([...chunks, bytes(': end')])).toEqual(expected);
      }
    }
  });

  it('gives no event that is not whole', async () => {
    expect(await eventsOf([bytes('data: one\n\ndata: tw')])).toEqual([{ event: 'message', data: 'one' }]);
  });
});
