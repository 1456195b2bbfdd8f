import { type GatewayApi, Refusal, type Update } from './gateway-api.ts';
import { type LiveState, nothingYet, withDetail, withUpdates } from './live-state.ts';

/** The live state of the gateway, updated until `close`. */
export interface Watch {
  readonly state: LiveState;
  /** Loads the details of one conversation, or of none. */
  open(id: string | undefined): void;
  showMore(): void;
  /** Does not wait for the next try. */
  retry(): void;
  close(): void;
}

interface WatchOptions {
  readonly api: GatewayApi;
  readonly onChange: (state: LiveState) => void;
}

const STEP = 50;
/** Updates within this time are drawn together. */
const GATHER_MS = 100;
/** The gateway sends something every 15 s. */
const SILENCE_MS = 40_000;
const LONGEST_WAIT_MS = 15_000;
/** The state of the store is not part of receipts, so the page asks for it. */
const STATUS_MS = 20_000;

/** Connects, loads everything once, and then listens. Starts over if the connection breaks. */
export function watchGateway({ api, onChange }: WatchOptions): Watch {
  return new GatewayWatch(api, onChange);
}

class GatewayWatch implements Watch {
  state = nothingYet;
  readonly #api: GatewayApi;
  readonly #onChange: (state: LiveState) => void;
  readonly #end = new AbortController();
  #limit = STEP;
  #failures = 0;
  #gathered: Update[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wake = (): void => {};

  constructor(api: GatewayApi, onChange: (state: LiveState) => void) {
    this.#api = api;
    this.#onChange = onChange;
    void this.#run();
  }

  open(id: string | undefined): void {
    if (id === this.state.opened?.id) return;
    const { opened: _, ...rest } = this.state;
    this.#set(id === undefined ? rest : { ...rest, opened: { id, receipts: [], masks: [], shaped: [] } });
    if (id !== undefined && this.state.connection.kind === 'live') void this.#loadOpened();
  }

  showMore(): void {
    this.#limit += STEP;
    void this.#loadAll(this.#end.signal).catch(() => {});
  }

  retry(): void {
    this.#wake();
  }

  close(): void {
    this.#end.abort();
    this.#wake();
    clearTimeout(this.#timer);
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#listen();
        this.#lost('The gateway ended the connection');
      } catch (error) {
        if (error instanceof Refusal && (error.status === 401 || error.status === 403)) return this.#refused(error);
        this.#lost(error instanceof Refusal ? error.message : 'The gateway does not answer');
      }
      await this.#wait();
    }
  }

  /** Listens first and loads then, so that no update is lost between the two. */
  async #listen(): Promise<void> {
    const line = new AbortController();
    const hangUp = (): void => line.abort();
    this.#end.signal.addEventListener('abort', hangUp);
    let silence = setTimeout(hangUp, SILENCE_MS);
    const refresh = setInterval(() => void this.#loadStatus(line.signal), STATUS_MS);
    try {
      const updates = await this.#api.events(line.signal);
      await this.#loadAll(line.signal);
      this.#failures = 0;
      this.#set({ ...this.state, connection: { kind: 'live' } });
      void this.#loadOpened();
      for await (const update of updates) {
        clearTimeout(silence);
        silence = setTimeout(hangUp, SILENCE_MS);
        if (update) this.#gather(update);
      }
    } finally {
      clearTimeout(silence);
      clearInterval(refresh);
      this.#end.signal.removeEventListener('abort', hangUp);
      hangUp();
    }
  }

  async #loadAll(signal: AbortSignal): Promise<void> {
    const limit = this.#limit;
    const [status, conversations] = await Promise.all([
      this.#api.status(signal),
      this.#api.conversations(limit, signal),
    ]);
    this.#set({ ...this.state, status, conversations, hasMore: conversations.length >= limit });
  }

  /** If it fails, the connection fails too and reports it. */
  async #loadStatus(signal: AbortSignal): Promise<void> {
    const status = await this.#api.status(signal).catch(() => undefined);
    if (status && !signal.aborted) this.#set({ ...this.state, status });
  }

  async #loadOpened(): Promise<void> {
    const id = this.state.opened?.id;
    if (id === undefined) return;
    try {
      const detail = await this.#api.conversation(id, this.#end.signal);
      const { opened } = this.state;
      if (opened?.id === id) this.#set({ ...this.state, opened: withDetail(opened, detail) });
    } catch (error) {
      const { opened } = this.state;
      const failure = error instanceof Refusal ? error.message : 'The gateway does not answer';
      if (opened?.id === id) this.#set({ ...this.state, opened: { ...opened, failure } });
    }
  }

  #gather(update: Update): void {
    this.#gathered.push(update);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const updates = this.#gathered;
      this.#gathered = [];
      this.#set(withUpdates(this.state, updates));
    }, GATHER_MS);
  }

  #lost(because: string): void {
    const waitMs = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** this.#failures++);
    this.#set({ ...this.state, connection: { kind: 'lost', because, retryAt: Date.now() + waitMs } });
  }

  #refused({ status, message }: Refusal): void {
    const because =
      status === 401 ? 'The gateway does not know this token. Open the link that it printed last.' : message;
    this.#set({ ...this.state, connection: { kind: 'refused', because } });
  }

  async #wait(): Promise<void> {
    const { connection } = this.state;
    if (connection.kind !== 'lost') return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, connection.retryAt - Date.now());
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (!this.#end.signal.aborted) this.#set({ ...this.state, connection: { kind: 'connecting' } });
  }

  #set(state: LiveState): void {
    if (this.#end.signal.aborted) return;
    this.state = state;
    this.#onChange(state);
  }
}
