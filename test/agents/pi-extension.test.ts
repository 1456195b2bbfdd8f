import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Provider, startProvider } from '../support/provider/start-provider.ts';
import { type Agent, agents } from './agents.ts';
import { JOB_CALLS, jobScript, LAST_TEXT, RECALL_TEXT, writeProject } from './job.ts';
import { startAgent } from './run-agent.ts';

const home = mkdtempSync(join(tmpdir(), 'palimpsest-pi-'));

beforeAll(() => {
  ensureBuilt();
  mkdirSync(join(home, 'node_modules'));
  symlinkSync(ROOT, join(home, 'node_modules/palimpsest'), 'dir');
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly output: string;
  readonly provider: Provider;
  /** The bodies of all requests. */
  readonly bodies: readonly string[];
  /** The handle that the model recalled. */
  readonly handle: string;
}

/** The job of 80 tool calls with an extension, straight to a strict provider. */
async function runPi(name: string, extension: string): Promise<Run> {
  const found = agents.find((agent) => agent.name === 'pi');
  if (!found) throw new Error('No pi.');
  const work = join(home, name);
  writeProject(work);
  const file = `${name}.ts`;
  const pi: Agent = {
    ...found,
    mcp: { recall: (handle) => ({ name: 'recall', input: { handle, all: true } }) },
    command: (place) => [...found.command(place), '--extension', join(home, file)],
    files: (place) => ({ ...found.files?.(place), [file]: extension }),
  };
  let handle = '';
  const recalls = async (recalled: string): Promise<void> => {
    handle = recalled;
  };
  const provider = await startProvider({ script: jobScript(pi, { work, recalls }) });
  try {
    const ended = await startAgent(pi, { home, work, place: { url: provider.url, mcp: ['none'] } });
    return { ...ended, provider, bodies: provider.requests.map(({ bytes }) => bytes.toString()), handle };
  } finally {
    await provider.close();
  }
}

function expectDone({ code, output, provider }: Run): void {
  expect(provider.requests.map(({ refused }) => refused).filter(Boolean)).toEqual([]);
  expect(output).toContain(LAST_TEXT);
  expect(code, output).toBe(0);
}

const masksIn = (body = ''): number => body.match(/ masked · recall p_/g)?.length ?? 0;

describe('pi with the extension does a job of 80 tool calls', () => {
  it('with masks, and recalls a masked text', async () => {
    const path = join(home, 'store');
    const run = await runPi(
      'masks',
      `
      import { slidingWindow } from 'palimpsest';
      import { palimpsest } from 'palimpsest/pi';
      import { openStore } from 'palimpsest/store';
      const store = await openStore({ path: ${JSON.stringify(path)} });
      export default palimpsest.extension({ store, policy: slidingWindow({ turns: 5 }) });
      `,
    );
    expectDone(run);
    expect(masksIn(run.bodies.at(-1))).toBeGreaterThan(JOB_CALLS - 10);
    const store = await openStore({ path });
    const { text = '' } = (await store.get(run.handle)) ?? {};
    await store.close();
    expect(text.length).toBeGreaterThan(2000);
    const recalled = run.bodies.find((body) => body.includes(RECALL_TEXT)) ?? '';
    expect(recalled.slice(recalled.lastIndexOf(RECALL_TEXT))).toContain(JSON.stringify(text).slice(1, -1));
  });

  it('with an error and no masks, if the store fails', async () => {
    const run = await runPi(
      'fails',
      `
      import { slidingWindow } from 'palimpsest';
      import { palimpsest } from 'palimpsest/pi';
      import { createMemoryStore } from 'palimpsest/store';
      const store = createMemoryStore();
      store.putMany = () => Promise.reject(new Error('disk full'));
      export default palimpsest.extension({ store, policy: slidingWindow({ turns: 5 }) });
      `,
    );
    expectDone(run);
    expect(run.output).toContain('disk full');
    expect(run.bodies.map(masksIn).filter((masks) => masks > 0)).toEqual([]);
  });
});
