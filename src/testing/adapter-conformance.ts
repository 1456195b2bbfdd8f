import type { AdapterOptions } from '../adapters/adapter.ts';
import { isPlaceholder } from '../laws/idempotent.ts';
import type { Format, Segment } from '../message.ts';
import { never } from '../plan/policies/never.ts';
import { polling } from '../plan/policies/sliding-window.ts';
import type { Report } from '../plan/report.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import type { Store } from '../store/store.ts';
import type { AdapterDriver, ScriptedReply, ScriptedRun, SentRequest } from './adapter-driver.ts';
import { createJob, failureText, fileText, type Job } from './adapter-job.ts';
import type { TestFunctions } from './store-conformance.ts';

/** The tests that every adapter passes: `adapterConformance({ describe, it, expect }, driver)`. */
export function adapterConformance<Made>({ describe, it, expect }: TestFunctions, driver: AdapterDriver<Made>): void {
  const { skips = {} } = driver;
  const read = readerOf(driver);
  const start = (options: AdapterOptions): Conversation =>
    startConversation(driver, makeAdapter(driver, options), 'job');
  /** A test that is skipped if the framework cannot express its topic. */
  const test = (topic: keyof typeof skips, fact: string, body: () => Promise<void>): void => {
    const reason = skips[topic];
    if (reason === undefined) it(fact, body);
    else (it as Skipping).skip?.(`${fact} (${reason})`, body);
  };

  describe(`${driver.name}: a conversation of 100 turns in two runs`, () => {
    let done: ReturnType<typeof converse> | undefined;
    const converse = async () => {
      const conversation = start({ store: createMemoryStore(), policy });
      await conversation.run({ turns: 60 });
      await conversation.run({ turns: 40 });
      return conversation;
    };
    const conversation = () => {
      done ??= converse();
      return done;
    };

    it('the framework accepts every step, and the model gets a request for each', async () => {
      const { requests, history } = await conversation();
      // Each run ends with a reply without calls.
      expect(requests.length).toBe(102);
      expect(read.history(history()).check.length).toBe(0);
    });

    it('every call has its result in every request', async () => {
      const { requests } = await conversation();
      for (const request of requests) expect(read.sent(request).check).toEqual([]);
    });

    it('every call stays, with its arguments', async () => {
      const { requests, replies } = await conversation();
      const { segments } = read.sent(requests.at(-1));
      const sent = segments.flatMap(({ kind, callId, text }) => (kind === 'action' ? [`${callId} ${text}`] : []));
      const made = replies.flatMap(({ calls = [] }) => calls.map(({ id, input }) => `${id} ${JSON.stringify(input)}`));
      expect(sent).toEqual(made);
    });

    it('old results are masked, recent ones are whole', async () => {
      const { requests } = await conversation();
      const last = read.sent(requests.at(-1)).results;
      expect(isPlaceholder(last.get('call_2_a')?.text ?? '')).toBe(true);
      expect(last.get('call_99_a')?.text.includes(fileText('job', 'src/read-99a.ts'))).toBe(true);
      const masked = [...last.values()].filter(({ text }) => isPlaceholder(text));
      expect(masked.length > 60).toBe(true);
    });

    it('a placeholder stays the same in every later request, also in the next run', async () => {
      const { requests } = await conversation();
      const shown = new Map<string, string>();
      for (const request of requests) {
        const { results } = read.sent(request);
        for (const [id, text] of shown) expect(results.get(id)?.text).toBe(text);
        for (const [id, { text }] of results) if (isPlaceholder(text)) shown.set(id, text);
      }
      expect(shown.size > 60).toBe(true);
    });

    it('requests begin as the one before, but for those that mask', async () => {
      const { requests } = await conversation();
      const texts = requests.map((request) => read.sent(request).segments.map(({ text }) => text));
      const rewritten = texts.filter((now, i) => texts[i - 1]?.some((text, at) => text !== now[at]));
      expect(rewritten.length <= 10).toBe(true);
    });

    test('errors', 'an error stays an error, and a short one stays whole', async () => {
      const { requests } = await conversation();
      const { results } = read.sent(requests.at(-1));
      const failed = results.get('call_3_a');
      expect([isPlaceholder(failed?.text ?? ''), failed?.isError]).toEqual([true, true]);
      const short = results.get('call_6_a');
      expect([short?.text.includes('No file src/stat-6a.ts.'), short?.isError]).toEqual([true, true]);
      expect(results.get('call_2_a')?.isError ?? false).toBe(false);
    });

    test('images', 'an image is sized by its pixels', async () => {
      const { requests, reports } = await conversation();
      const turn = 8;
      const images = read.sent(requests[turn + 1]).results.get(`call_${turn}_a`)?.media ?? [];
      expect(images.map(({ type }) => type)).toEqual(['image']);
      const [before = 0, after = 0] = [reports[turn], reports[turn + 1]].map((report) => report?.tokens.before);
      // 400 × 300 pixels are between 100 and 800 tokens with every provider, and a call is around 50.
      expect(after - before > 100 && after - before < 900).toBe(true);
    });

    test('reasoning', 'bound reasoning is untouched', async () => {
      const { requests, replies } = await conversation();
      for (const [i, request] of requests.entries()) {
        const sent = read.sent(request).segments.filter(({ bound, kind }) => bound && kind === 'reasoning');
        const given = replies.slice(0, i).flatMap(({ reasoning }) => (reasoning ? [reasoning.text] : []));
        expect(sent.map(({ text }) => text)).toEqual(given);
      }
    });

    it('the history of the framework keeps the originals', async () => {
      const { history } = await conversation();
      const { results } = read.history(history());
      expect(results.get('call_2_a')?.text.includes(fileText('job', 'src/read-2a.ts'))).toBe(true);
      expect(results.get('call_3_a')?.text.includes(failureText('job', 'src/test-3a.ts'))).toBe(true);
      expect([...results.values()].filter(({ text }) => isPlaceholder(text))).toEqual([]);
      expect(results.get('call_8_a')?.media?.length ?? 0).toBe(skips.images === undefined ? 1 : 0);
    });

    it('the recall tool is there from the first request on', async () => {
      const { requests } = await conversation();
      expect(requests.filter(({ tools }) => !tools.includes('recall'))).toEqual([]);
    });
  });

  describe(`${driver.name}: one step`, () => {
    it('recall through the framework gives the original', async () => {
      const conversation = start({ store: createMemoryStore(), policy });
      await conversation.run({ turns: 30 });
      const placeholder = read.sent(conversation.requests.at(-1)).results.get('call_2_a')?.text ?? '';
      const [handle] = /recall (p_[a-z2-7]{26})/.exec(placeholder)?.slice(1) ?? [];
      const recalled = { id: 'call_recall', tool: 'recall', input: { handle, all: true } };
      await conversation.run({ turns: 1, reply: () => ({ calls: [recalled] }) });
      const answer = read.sent(conversation.requests.at(-1)).results.get('call_recall')?.text ?? '';
      expect(answer.includes(fileText('job', 'src/read-2a.ts'))).toBe(true);
    });

    it('a budget that masking cannot meet drops turns', async () => {
      const maxTokens = 4000;
      const conversation = start({ store: createMemoryStore(), policy: never(), maxTokens });
      await conversation.run({ turns: 60 });
      expect((conversation.reports.at(-1)?.edits.drop ?? 0) > 0).toBe(true);
      for (const { tokens } of conversation.reports) expect(tokens.after <= maxTokens).toBe(true);
      for (const request of conversation.requests) expect(read.sent(request).check).toEqual([]);
      const [first, last] = [conversation.requests[5], conversation.requests.at(-1)].map(read.sent);
      expect([first?.results.has('call_1_a'), last?.results.has('call_1_a')]).toEqual([true, false]);
      expect(last?.results.has('call_59_a')).toBe(true);
    });

    it('the descriptions of tools count', async () => {
      const sizeWith = async (description: string): Promise<number> => {
        const conversation = start({ store: createMemoryStore() });
        const [first, ...others] = conversation.job.tools;
        await conversation.run({ turns: 1, tools: first ? [{ ...first, description }, ...others] : [] });
        return conversation.reports[0]?.tokens.before ?? 0;
      };
      const more = (await sizeWith('word '.repeat(1001))) - (await sizeWith('word'));
      expect(more > 900 && more < 1500).toBe(true);
    });

    it('without a store, placeholders have no handles', async () => {
      const conversation = start({ policy });
      await conversation.run({ turns: 30 });
      const { text = '' } = read.sent(conversation.requests.at(-1)).results.get('call_2_a') ?? {};
      expect([isPlaceholder(text), text.includes('p_')]).toEqual([true, false]);
    });

    it('a store that fails lets no request with masks out', async () => {
      const putMany = () => Promise.reject(new Error('disk full'));
      const store = Object.assign(createMemoryStore(), { putMany });
      const conversation = start({ store, policy });
      await conversation.run({ turns: 40 }).catch(() => undefined);
      expect(conversation.requests.length > 5 && conversation.requests.length < 40).toBe(true);
      const sent = conversation.requests.flatMap((request) => [...read.sent(request).results.values()]);
      expect(sent.filter(({ text }) => isPlaceholder(text))).toEqual([]);
    });

    it('an aborted step leaves nothing half done', async () => {
      const store = createMemoryStore();
      const controller = new AbortController();
      const aborted = start({ store, policy });
      const abortAt = (turn: number): ScriptedReply => {
        if (turn === 24) controller.abort();
        return aborted.job.reply(turn);
      };
      await aborted.run({ turns: 40, reply: abortAt, signal: controller.signal }).catch(() => undefined);
      expect(aborted.requests.length).toBe(25);
      const [again, undisturbed] = [start({ store, policy }), start({ store: createMemoryStore(), policy })];
      await again.run({ turns: 40 });
      await undisturbed.run({ turns: 40 });
      const sentBy = ({ requests }: Conversation) => requests.map((request) => read.sent(request).segments);
      expect(sentBy(again)).toEqual(sentBy(undisturbed));
      expect(await store.verify()).toEqual([]);
    });

    it('two conversations with one adapter do not mix', async () => {
      const store = createMemoryStore();
      const adapter = makeAdapter(driver, { store, policy });
      const both = ['one', 'two'].map((name) => startConversation(driver, adapter, name));
      await Promise.all(both.map((conversation) => conversation.run({ turns: 30 })));
      const alone = startConversation(driver, makeAdapter(driver, { store: createMemoryStore(), policy }), 'one');
      await alone.run({ turns: 30 });
      const sentBy = (conversation: Conversation | undefined) =>
        conversation?.requests.map((request) => read.sent(request).segments);
      expect(sentBy(both[0])).toEqual(sentBy(alone));
      for (const name of ['one', 'two']) {
        const stored: string[] = [];
        for await (const { text } of store.list(name)) stored.push(text);
        expect(stored.filter((text) => / holds line /.test(text) && !text.includes(`${name} src/`))).toEqual([]);
        expect(stored.length > 5).toBe(true);
      }
    });
  });

  describe(`${driver.name}: options`, () => {
    for (const [fact, options] of BAD_OPTIONS)
      it(`${fact} is refused before the first step`, async () => {
        let code = 'no error';
        try {
          driver.make(options as AdapterOptions);
        } catch (error) {
          code = String((error as { code?: unknown }).code ?? error);
        }
        expect(code).toBe('BAD_OPTION');
      });
  });
}

/** The `it` of a runner that can skip, such as vitest and Jest. */
type Skipping = TestFunctions['it'] & { readonly skip?: TestFunctions['it'] };

/** Masks every ten turns, so that requests in between begin with the same messages. */
const policy = polling({ turns: 10, every: 10 });

const BAD_OPTIONS: readonly (readonly [fact: string, options: unknown])[] = [
  ['an unknown option', { storee: 1 }],
  ['a store that is none', { store: {} }],
  ['a session that is no id', { session: 'a b' }],
  ['a policy by its name', { policy: 'polling' }],
  ['a budget of no tokens', { maxTokens: 0 }],
  ['a model that is no text', { model: 5 }],
  ['an unknown way to make results smaller', { arrival: { squeeze: true } }],
  ['recall without a store', { recall: true }],
  ['a report for no function', { onReport: 'log' }],
  ['a list of options', []],
];

/** A running conversation, with everything that the model got and said. */
interface Conversation {
  readonly job: Job;
  readonly requests: SentRequest[];
  readonly replies: ScriptedReply[];
  readonly reports: Report[];
  history(): readonly unknown[];
  run(run: RunOptions): Promise<void>;
}

interface RunOptions extends Partial<Pick<ScriptedRun, 'tools' | 'signal'>> {
  readonly turns: number;
  readonly reply?: (turn: number) => ScriptedReply;
}

/** An adapter, and the reports of its conversations. */
interface MadeAdapter<Made> {
  readonly made: Made;
  readonly store: Store | undefined;
  readonly reports: Map<string, Report[]>;
}

function makeAdapter<Made>(driver: AdapterDriver<Made>, options: AdapterOptions): MadeAdapter<Made> {
  const reports = new Map<string, Report[]>();
  const onReport: AdapterOptions['onReport'] = (report, { session = '' }) => {
    reports.set(session, [...(reports.get(session) ?? []), report]);
  };
  return { made: driver.make({ ...options, onReport }), store: options.store, reports };
}

/** `name` is also the id of the session. */
function startConversation<Made>(driver: AdapterDriver<Made>, adapter: MadeAdapter<Made>, name: string): Conversation {
  const job = createJob(name);
  const requests: SentRequest[] = [];
  const replies: ScriptedReply[] = [];
  let history: readonly unknown[] = [];
  let turn = 0;
  return {
    job,
    requests,
    replies,
    get reports() {
      return adapter.reports.get(name) ?? [];
    },
    history: () => history,
    async run({ turns, reply = job.reply, tools = job.tools, signal }) {
      const end = turn + turns;
      const model = (request: SentRequest): ScriptedReply => {
        requests.push(request);
        const said = turn < end ? reply(turn) : { text: 'Done.' };
        if (turn < end) turn += 1;
        replies.push(said);
        return said;
      };
      const { made, store } = adapter;
      const prompt = `Go on with ${name}.`;
      const run = { adapter: made, history, prompt, tools, session: name, model };
      history = await driver.run({ ...run, ...(store ? { store } : {}), ...(signal ? { signal } : {}) });
    },
  };
}

/** A list of messages, as its format sees it. */
interface Read {
  readonly segments: readonly Segment[];
  /** Results by the id of their call. */
  readonly results: ReadonlyMap<string, Segment>;
  readonly check: readonly unknown[];
}

function readerOf({ format, historyFormat = format }: Pick<AdapterDriver, 'format' | 'historyFormat'>) {
  const read = (messages: readonly unknown[], { view, check }: Format): Read => {
    const segments = view(messages);
    const results = segments.flatMap((segment) =>
      segment.kind === 'observation' && segment.callId !== undefined ? [[segment.callId, segment] as const] : [],
    );
    return { segments, results: new Map(results), check: check(messages) };
  };
  return {
    sent: (request: SentRequest | undefined) => read(request?.messages ?? [], format as unknown as Format),
    history: (messages: readonly unknown[]) => read(messages, historyFormat as unknown as Format),
  };
}
