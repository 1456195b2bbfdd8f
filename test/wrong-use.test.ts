import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { palimpsest } from '../src/adapters/ai-sdk/index.ts';
import { fromUrl } from '../src/adapters/models/index.ts';
import { fit, HistoryReducer, slidingWindow } from '../src/index.ts';
import { ContextManager, createMemorySession, openSession, runAgent } from '../src/manager/index.ts';
import { createMemoryStore, fitAndStore, openStore, recallTool } from '../src/store/index.ts';
import { history } from './support/chat.ts';

// biome-ignore lint/suspicious/noExplicitAny: used wrongly on purpose
type Any = any;

const messages = history(3);
const store = createMemoryStore();
const later = (value: unknown): Any => Promise.resolve(value);
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'));

/** How people new to it call it, and the part of the error that says what to do. */
const mistakes: readonly (readonly [string, () => unknown, string])[] = [
  ['a promise for messages', () => fit(later(messages)), 'found a promise (await it)'],
  ['a promise for a message', () => fit([later({})]), 'message 0: a promise (await it)'],
  ['a promise for options', () => fit(messages, later({})), 'found a promise (await it)'],
  ['a promise for a store', () => fitAndStore(messages, { store: later(store) }), 'a promise (await it)'],
  ['a promise for a session', () => runAgent({ model: fromModel(), context: later({}) }), 'a promise (await it)'],
  ['a promise added to a session', () => createMemorySession().add(later({})), 'found a promise (await it)'],
  ['a policy for options', () => fit(messages, slidingWindow() as Any), 'it takes maxTokens, format, '],
  ['a store for options', () => palimpsest.tools(store as Any), 'it takes store'],
  ['no store', () => fitAndStore(messages, {} as Any), 'a store, such as openStore() gives'],
  ['a misspelt session', () => fitAndStore(messages, { store, sesion: 'a' } as Any), 'did you mean session?'],
  ['options of reduce elsewhere', () => new HistoryReducer().reduce(messages, undefined as Any), 'reduce(messages, {'],
  ['no store to recall from', () => recallTool({ store } as Any), 'the store of recallTool to be a store'],
  ['the name of a model', () => runAgent({ model: 'gpt-5' as Any, task: 'x' }), 'such as fromUrl({ baseURL, model })'],
  ['a format that is none', () => new ContextManager({ format: 'openai' as Any }), 'openai-chat'],
  ['an address without http', () => fromUrl({ baseURL: 'localhost:1/v1', model: 'x' }), 'http://localhost:11434/v1'],
  ['a home folder for a store', () => openStore({ path: '~/history' }), 'only a shell takes for the home folder'],
  ['a home folder for sessions', () => openSession({ directory: '~', id: 'a' }), 'only a shell takes for the home'],
];

const fromModel = () => fromUrl({ baseURL: 'http://localhost:1/v1', model: 'x' });

describe('an error says what to do after', () => {
  it.each(mistakes)('%s', async (_what, run, said) => {
    const error = await Promise.resolve()
      .then(run)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'PalimpsestError', message: expect.stringContaining(said) });
  });
});

describe('takes', () => {
  it('a folder whose name only contains ~', async () => {
    const opened = await openStore({ path: join(folder, '~history') });
    await opened.close();
    const session = await openSession({ directory: join(folder, 'a~'), id: 'a' });
    await session.close();
  });

  it('an own table of windows, which looks like options of numbers', () => {
    expect(fit(messages, { contextWindows: { mine: 5000 } }).report.maskedCount).toBe(0);
    expect(() => fit(messages, { maxTokns: 5 } as Any)).toThrow('did you mean maxTokens?');
    expect(() => fit(messages, { colour: 5 } as Any)).toThrow('it takes maxTokens');
  });
});
