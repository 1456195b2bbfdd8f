import { once } from 'node:events';
import { pipeline, type Readable, Transform, type Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** A pair of streams. It closes once the client has closed its end and all its requests are answered: the SDK's own drops open ones. */
export class StdioTransport implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: Transport['onclose'];
  onerror?: Transport['onerror'];
  readonly closed: Promise<void>;
  #resolveClosed!: () => void;
  readonly #reader: StdioServerTransport;
  readonly #output: Writable;
  /** Ids of requests without an answer. A client may use an id twice. */
  readonly #open: unknown[] = [];
  #isInputOver = false;
  #isClosed = false;

  constructor(input: Readable, output: Writable) {
    const lines = new Transform({
      transform: (chunk, _encoding, done) => done(null, chunk),
      // The last line may have no end.
      flush: (done) => done(null, '\n'),
    });
    pipeline(input, lines, () => {});
    this.#reader = new StdioServerTransport(lines, output);
    this.#output = output;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  async start(): Promise<void> {
    this.#reader.onerror = (error) => this.onerror?.(error);
    this.#reader.onmessage = (message) => {
      this.#beginRequest(message);
      this.onmessage?.(message);
    };
    this.#reader.onclose = () => {
      this.#isInputOver = true;
      this.#closeOnceAnswered();
    };
    for (const gone of ['error', 'close']) this.#output.once(gone, () => void this.close());
    await this.#reader.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('The connection is closed');
    if (!this.#output.write(`${JSON.stringify(message)}\n`)) await once(this.#output, 'drain');
    if (!('method' in message)) this.#endRequest(message.id);
  }

  async close(): Promise<void> {
    this.#open.length = 0;
    // It calls our `onclose`, unless the input was over before.
    await this.#reader.close();
    this.#closeOnceAnswered();
  }

  #beginRequest(message: JSONRPCMessage): void {
    // A subscription has no answer while the client is there, and a cancelled request has none at all.
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') this.#open.push(message.id);
    else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled')
      this.#endRequest(message.params?.requestId);
  }

  #endRequest(id: unknown): void {
    const at = this.#open.indexOf(id);
    if (at >= 0) this.#open.splice(at, 1);
    this.#closeOnceAnswered();
  }

  #closeOnceAnswered(): void {
    if (!this.#isInputOver || this.#open.length > 0 || this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
    this.#resolveClosed();
  }
}
