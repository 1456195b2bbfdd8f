import { homedir } from 'node:os';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { isRecord } from '../../formats/lens.ts';
import { leaveCluster, startWorkers, workerRemote } from '../../gateway/cluster/cluster.ts';
import type { Remote } from '../../gateway/cluster/cluster-worker.ts';
import { checkGatewayOptions } from '../../gateway/gateway-options.ts';
import { createGateway, createLog, type GatewayOptions, type Log, listen } from '../../gateway/index.ts';
import { keepToken } from '../../gateway/page/token.ts';
import { toLogEntry } from '../../gateway/receipts/log.ts';
import { createRecordStores } from '../../gateway/receipts/record-stores.ts';
import { createRecords, type Records } from '../../gateway/receipts/records.ts';
import { checkPort, type ListenOptions, urlOf } from '../../gateway/server.ts';
import { providerNames } from '../../gateway/wire/providers.ts';
import { createPriceBook } from '../../money/index.ts';
import { limitSearchProcesses } from '../../store/line-matcher.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Store } from '../../store/store.ts';
import type { Agent } from '../agents/agents.ts';
import { findAgent } from '../agents/find-agent.ts';
import type { Io } from '../io.ts';
import { startPruning } from '../store/retention.ts';
import { createStores, DEFAULT_TENANT, isDatabase, type Stores } from '../store/stores.ts';
import { storePath } from '../store/with-store.ts';
import { version } from '../version.ts';
import { playDemo } from './demo.ts';
import { startDemoUpstream } from './demo-upstream.ts';
import { addressFor, greet, greetDemo, showSteps, warnOfMissing } from './serve-greeting.ts';
import { createMcpMount } from './serve-mcp.ts';
import type { ServeFlags } from './serve-options.ts';
import { readServeSettings, type ServeSettings } from './serve-settings.ts';

/** Serves until it is stopped. */
export async function serve(flags: ServeFlags, io: Io): Promise<void> {
  const serving = await readServing(flags, io);
  if (flags.demo) await serveDemo(serving);
  else if (serving.agent && (await isRunning(serving))) io.stdout(showRunning(serving, serving.agent));
  else if (serving.settings.workers > 1) await serveWithWorkers(serving);
  else await serveAlone(serving);
}

/** Whether a gateway with this token already listens at the address. */
async function isRunning({ settings, token }: Serving): Promise<boolean> {
  if (settings.port === 0) return false;
  const status = `${urlOf(settings.host, settings.port)}/_palimpsest/api/status`;
  const asked = fetch(status, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(MOST_ASK_MS),
  });
  const found = await asked.then((answer) => (answer.ok ? answer.json() : undefined)).catch(() => undefined);
  if (isRecord(found) && String(found.version).endsWith(DEMO)) {
    const remedy = 'it reaches no provider; stop it, or choose another port with --port';
    throw new PalimpsestError(
      'BAD_INPUT',
      `The gateway at ${urlOf(settings.host, settings.port)} is a demo: ${remedy}`,
    );
  }
  return found !== undefined;
}

/** Ends the version of a demo, so that its page and `serve --for` can tell it from a gateway that forwards. */
const DEMO = ' (demo)';

const MOST_ASK_MS = 2000;

/** The lines for an agent, if a gateway runs already: a second one is not needed. */
function showRunning({ settings, token }: Serving, agent: Agent): string {
  const url = urlOf(settings.host, settings.port);
  const address = addressFor({ url, isPublic: settings.isPublic, token: settings.isPublic ? 'TOKEN' : token });
  return `A gateway already runs at ${url}\n\n${showSteps(agent.steps(address))}`;
}

/** Reads and checks everything that a gateway is started with. */
export async function readServing(flags: ServeFlags, io: Io): Promise<Serving> {
  const settings = await readServeSettings(flags, io);
  if (settings.searchProcesses !== undefined) limitSearchProcesses(settings.searchProcesses);
  const token = io.env?.PALIMPSEST_TOKEN || ownToken();
  checkGatewayOptions({ ...settings.gateway, token, tenants: settings.tenants });
  const log: Log = flags.quiet ? () => {} : createLog((line) => io.stderr(line));
  return { settings, log, token, io, agent: flags.for === undefined ? undefined : findAgent(flags.for) };
}

function ownToken(): string {
  const path = join(homedir(), '.palimpsest', 'token');
  try {
    return keepToken(path);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new PalimpsestError('BAD_INPUT', `Could not keep a token in ${path}: ${why}. Set $PALIMPSEST_TOKEN instead`, {
      cause,
    });
  }
}

export interface Serving {
  readonly settings: ServeSettings;
  readonly log: Log;
  readonly token: string;
  readonly io: Io;
  /** The agent whose set-up lines are shown. */
  readonly agent: Agent | undefined;
}

async function serveAlone(serving: Serving): Promise<void> {
  const gateway = await startGateway(serving);
  try {
    // Before the greeting: a signal that answers it must find a handler.
    const stopped = interrupted(serving.io);
    await announce(serving, gateway.url);
    await stopped;
  } finally {
    await gateway.close(serving.settings);
  }
}

interface CloseOptions {
  readonly graceMs: number;
  readonly drainMs?: number;
}

/** A gateway in this process, and its stores. */
export interface RunningGateway {
  readonly url: string;
  close(options: CloseOptions): Promise<void>;
}

/** Resolves when it listens. */
export async function startGateway(serving: Serving, open = openStores): Promise<RunningGateway> {
  const { settings, log } = serving;
  const stores = await open(serving);
  try {
    const options = optionsOf(serving, { open: stores.open, isStoreShared: stores.isShared });
    const server = await listen(createGateway(options), addressOf(settings));
    const stopPruning = startPruning({ stores, retention: settings.retention, log });
    const close = async ({ graceMs, drainMs = 0 }: CloseOptions): Promise<void> => {
      stopPruning();
      await server.close({ graceMs, drainMs }).finally(stores.close);
    };
    return { url: server.url, close };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

/** A worker is killed if it has not ended this long after its grace time. */
const MOST_EXIT_MS = 5000;

/** One process owns store and records; the others handle requests. */
async function serveWithWorkers(serving: Serving): Promise<void> {
  const remote = workerRemote();
  if (remote) return serveAsWorker(serving, remote);
  const { settings, io, log } = serving;
  await checkPort(settings);
  const stores = await openStores(serving);
  try {
    const records = createRecords({
      startedAt: Date.now(),
      version,
      priceBook: createPriceBook(settings.gateway.modelPrices),
      onReceipt: (receipt) => log(toLogEntry(receipt)),
      keep: { open: createRecordStores(stores.open), log },
    });
    const workers = await startWorkers({ workers: settings.workers, log, records, openStore: stores.open });
    const stopPruning = startPruning({ stores, retention: settings.retention, log });
    const stopped = interrupted(io);
    await announce(serving, urlOf(settings.host, workers.port));
    await stopped;
    stopPruning();
    await workers.close({ graceMs: settings.drainMs + settings.graceMs + MOST_EXIT_MS });
    await records.close?.();
  } finally {
    await stores.close();
  }
}

async function serveAsWorker(serving: Serving, { store, records, stopAsked }: Remote): Promise<void> {
  const open = async (tenant: string): Promise<Store> => store(tenant);
  const server = await listen(
    createGateway(optionsOf(serving, { open, records, isStoreShared: true })),
    addressOf(serving.settings),
  );
  await Promise.race([interrupted(serving.io), stopAsked]);
  const { graceMs, drainMs } = serving.settings;
  await server.close({ graceMs, drainMs });
  leaveCluster();
}

/** Serves the demo, without a key, a store or files of the user. */
async function serveDemo({ settings, token, io }: Serving): Promise<void> {
  const upstream = await startDemoUpstream();
  const store = createMemoryStore();
  const gateway = createGateway({
    ...settings.gateway,
    upstreams: Object.fromEntries(providerNames.map((name) => [name, upstream.url])),
    store,
    token,
    version: `${version}${DEMO}`,
  });
  const server = await listen(gateway, addressOf(settings));
  const stopped = interrupted(io);
  io.stdout(greetDemo(server.url, token));
  const ending = new AbortController();
  const playing = playDemo(server.url, ending.signal).then((said) => io.stdout(said));
  await stopped;
  ending.abort();
  await playing.catch(() => {});
  await server.close({ graceMs: 1000 });
  await upstream.close();
}

/** Fails at once if another process writes to the folder, or if it cannot be created. A database may come later. */
export async function openStores({ settings, io }: Serving): Promise<Stores> {
  const all = await createStores(settings.store);
  const stores = { ...all, open: (tenant: string) => all.open(tenant === DEFAULT_TENANT ? settings.tenant : tenant) };
  const opening = stores.open(DEFAULT_TENANT);
  if (!stores.isShared) await opening;
  else
    await opening
      .then((store) => store.secret())
      .catch((error: Error) => {
        io.stderr(`palimpsest serve: the store does not answer (${error.message}). Nothing is masked until it does.\n`);
      });
  return stores;
}

interface Parts {
  open(tenant: string): Promise<Store>;
  readonly isStoreShared: boolean;
  readonly records?: Records | undefined;
}

function optionsOf({ settings, token, log }: Serving, { open, isStoreShared, records }: Parts): GatewayOptions {
  const mcp = createMcpMount(open, settings);
  return {
    ...settings.gateway,
    store: open,
    isStoreShared,
    ...(records ? { records } : {}),
    token,
    tenants: settings.tenants,
    isPublic: settings.isPublic,
    log,
    version,
    mounts: { '/_palimpsest/mcp': mcp.answer },
    // Agents that defer tools show none of them in a request, but an agent that has connected can find them.
    hasRecall: mcp.hasClient,
  };
}

async function announce({ settings, token, io, agent }: Serving, url: string): Promise<void> {
  const { isPublic, store, tenant, gateway } = settings;
  const isUsual = store === storePath(undefined, io);
  const { holdout = 0, shadow: isShadow = false } = gateway;
  io.stdout(
    greet({
      ...{ url, token, isPublic, tenant, agent, holdout, isShadow },
      store: isDatabase(store) ? 'PostgreSQL' : store,
      // An address may hold a password.
      storeOption: isUsual ? '' : ` --store ${isDatabase(store) ? '<address>' : store}`,
    }),
  );
  await warnOfMissing(gateway.upstreams ?? {}, io);
}

const addressOf = ({ port, host }: ServeSettings): ListenOptions => ({ port, host });

const NEVER = new Promise<void>(() => {});
const interrupted = (io: Io): Promise<void> => io.interrupted?.() ?? NEVER;
