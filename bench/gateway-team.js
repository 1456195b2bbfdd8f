// Several gateways on one PostgreSQL, each with the same load: processor time and statements per request, lock waits, and what a gateway
// costs per second with and without traffic. Every statement is one round trip: none is part of a transaction of several. Each request goes
// to the next gateway, or to the gateway of its conversation. In the control group each gateway also has a database of its own: the gateways
// share nothing, so a rise there is the machine's.
//   npm run build && node bench/gateway-team.js '{"conversations":8,"turns":40}'
// The same requests per second for any number of gateways, which leaves the cores idle most of the time:
//   node bench/gateway-team.js '{"conversations":16,"turns":90,"requestsPerSecond":60}'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startPostgres } from './postgres-server.js';
import { printTable } from './tables/table.js';

/** `conversations`: for each gateway; with `requestsPerSecond`, of all gateways together. */
const { conversations = 8, turns = 40, gateways = [1, 2, 4], requestsPerSecond } = JSON.parse(process.argv[2] ?? '{}');
/** Requests per gateway before anything is counted: connections are made, statements prepared, code compiled. */
const WARM_TURNS = 60;
const IDLE_MS = 5000;
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const TICK_MS = 10;
const COLUMNS = [
  'gateways',
  'requests go to',
  'CPU ms/request',
  'server CPU ms/request',
  'statements/request',
  'BEGIN',
  'lock waits',
  'per conversation and gateway',
  'per gateway and s',
  'idle: statements/s',
  'idle: CPU ms/s',
  'requests/s',
];

/** The gateway of a request: the one after that of the request before, or one for all requests of a conversation. */
const NEXT = { name: 'next', gatewayOf: (conversation, turn) => conversation + turn };
const OWN = { name: 'own', gatewayOf: (conversation) => conversation };
const OWN_DATABASE = { ...OWN, name: 'own, own database', isAlone: true };

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-team-bench-'));
const server = await startPostgres();
const admin = new pg.Client({ connectionString: server.url });
admin.on('error', () => {});
const upstream = createServer(answer).listen(0, '127.0.0.1');
await once(upstream, 'listening');

try {
  await admin.connect();
  await admin.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
  await admin.end();
  await server.kill();
  await server.start();
  const load = requestsPerSecond ? `in all, ${requestsPerSecond} requests per second` : 'for each gateway';
  console.log(`${conversations} conversations of ${turns} requests ${load}; ${availableParallelism()} cores\n`);
  const rows = [];
  // One after the other for each number, so that a machine that is busy for a while is so for all three.
  for (const count of gateways)
    for (const route of count > 1 ? [NEXT, OWN, OWN_DATABASE] : [NEXT]) rows.push(await measure(count, route));
  console.log(printTable({ title: 'Gateways on one PostgreSQL', columns: COLUMNS, rows }));
} finally {
  upstream.close();
  upstream.closeAllConnections();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(count, route) {
  const name = `team_${count}_${route.name.replaceAll(/\W+/g, '_')}`;
  const databases = Array.from({ length: route.isAlone ? count : 1 }, (_, i) => `${name}_${i}`);
  const urls = [];
  for (const database of databases) urls.push(await createDatabase(database));
  const running = await Promise.all(Array.from({ length: count }, (_, i) => startGateway(urls[i % urls.length])));
  const watcher = new pg.Client({ connectionString: urls[0], application_name: 'bench' });
  try {
    await watcher.connect();
    return await measureRunning(running, { watcher, databases, route });
  } finally {
    await watcher.end();
    await Promise.all(running.map(({ stop }) => stop()));
  }
}

async function measureRunning(running, { watcher, databases, route }) {
  const count = running.length;
  const total = requestsPerSecond ? conversations : count * conversations;
  const converseAll = (number, { name, turns: length, due }) =>
    Promise.all(
      Array.from({ length: number }, (_, i) =>
        converse(running, {
          name: `${name}${i}`,
          turns: length,
          at: (turn) => route.gatewayOf(i, turn),
          due: due && ((turn) => due(turn * number + i)),
        }),
      ),
    );
  const { rows } = await watcher.query('SELECT pg_backend_pid() AS pid');
  const countAll = async () => ({
    cpuMs: cpuOf(running),
    serverMs: serverCpu({ without: rows[0].pid }),
    ...(await countsOf(watcher, databases)),
  });
  await converseAll(count * conversations, { name: 'warm', turns: WARM_TURNS });
  await flushed();
  const before = await countAll();
  const locks = watchLocks(watcher);
  const began = performance.now();
  const due = requestsPerSecond && ((request) => began + (1000 * request) / requestsPerSecond);
  await converseAll(total, { name: 'c', turns, due });
  const seconds = (performance.now() - began) / 1000;
  const lockWaits = await locks.stop();
  await flushed();
  const after = await countAll();
  const counted = (performance.now() - began) / 1000;
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = await countAll();
  const requests = total * turns;
  const per = (name, divisor) => ((after[name] - before[name]) / divisor).toFixed(2);
  const idlePer = (name) => ((idle[name] - after[name]) / count / (IDLE_MS / 1000)).toFixed(2);
  const idleStatements = ['requests', 'conversations', 'seconds'].reduce((sum, name) => sum + Number(idlePer(name)), 0);
  const cells = [
    per('cpuMs', requests),
    per('serverMs', requests),
    per('requests', requests),
    String(after.begins - before.begins),
    `${lockWaits.waits} in ${lockWaits.looks} looks`,
    per('conversations', total * count),
    per('seconds', count * counted),
    idleStatements.toFixed(2),
    idlePer('cpuMs'),
    (requests / seconds).toFixed(0),
  ];
  return { cells: [String(count), route.name, ...cells], values: {} };
}

/** Records are written behind the requests, a second later. */
async function flushed() {
  await new Promise((resolve) => setTimeout(resolve, 1500));
}

async function createDatabase(name) {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = server.url.replace(/\/[^/]*$/, `/${name}`);
  const own = new pg.Client({ connectionString: url });
  await own.connect();
  await own.query('CREATE EXTENSION pg_stat_statements');
  await own.end();
  return url;
}

async function startGateway(store) {
  const { port } = upstream.address();
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    PALIMPSEST_TOKEN: 'a-token-for-the-bench',
    PALIMPSEST_PORT: '0',
    PALIMPSEST_QUIET: 'true',
    PALIMPSEST_STORE: store,
    PALIMPSEST_UPSTREAM: `anthropic=http://127.0.0.1:${port}`,
  };
  const child = spawn(process.execPath, [MAIN, 'serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  const url = await new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A gateway ended with ${code}`)));
    child.stdout.on('data', (chunk) => {
      output += chunk;
      const [, found] = /^listening on (\S+)$/m.exec(output) ?? [];
      if (found) resolve(found);
    });
  });
  const stop = async () => {
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  };
  return { url, pid: child.pid, stop };
}

/** Processor time of all threads, as the kernel counts it. */
function cpuOf(running) {
  return running.reduce((sum, { pid }) => sum + times(pid).own, 0);
}

/** Processor time of all processes of the server, also of those that ended, but without the process that answers our questions. */
function serverCpu({ without }) {
  const [first, ...others] = server.pids();
  const { own, ended } = times(first);
  return others.filter((pid) => pid !== without).reduce((sum, pid) => sum + times(pid).own, own + ended);
}

/** Milliseconds of a process, and of its children that ended. */
function times(pid) {
  let fields;
  try {
    fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number);
  } catch {
    // It has ended since it was listed: its parent counts it.
    return { own: 0, ended: 0 };
  }
  return { own: (fields[11] + fields[12]) * TICK_MS, ended: (fields[13] + fields[14]) * TICK_MS };
}

/**
 * Statements of the gateways by what they grow with: requests; conversations at each gateway (when a session was used last);
 * seconds of each gateway (records of requests, and whether something was deleted).
 */
async function countsOf(client, databases) {
  const { rows } = await client.query(
    `SELECT CASE WHEN query ~ '^BEGIN' THEN 'begins' WHEN query ~ '"\\.uses' THEN 'conversations'
       WHEN query ~ '"\\.(records|deletions)' THEN 'seconds' ELSE 'requests' END AS kind, sum(calls)::integer AS calls
     FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid WHERE datname = ANY ($1) AND query !~ 'pg_stat' GROUP BY 1`,
    [databases],
  );
  const found = { begins: 0, conversations: 0, seconds: 0, requests: 0 };
  for (const { kind, calls } of rows) found[kind] = calls;
  return found;
}

/** Looks for sessions that wait for a lock. Its own looks are no more than one in 50 ms. */
function watchLocks(client) {
  let isOver = false;
  let waits = 0;
  let looks = 0;
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await client.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      waits += Number(rows[0].count);
      looks += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return { waits, looks };
    },
  };
}

/** One conversation, which grows by a call and its result with each request. `due`: when a request is sent; without it, at once. */
async function converse(running, { name, turns: count, at, due }) {
  const messages = [{ role: 'user', content: `Task of ${name}` }];
  for (let turn = 0; turn < count; turn++) {
    if (due) await new Promise((resolve) => setTimeout(resolve, due(turn) - performance.now()));
    const { url } = running[at(turn) % running.length];
    const answered = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': `key-of-${name}`, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'claude-sonnet-5', max_tokens: 100, messages }),
    });
    if (!answered.ok) throw new Error(`Expected 200 but found ${answered.status}: ${await answered.text()}`);
    await answered.text();
    const id = `toolu_${name}_${turn}`;
    messages.push(
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command: `make ${turn}` } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, content: `${name} ${turn} ${'output '.repeat(400)}` }],
      },
    );
  }
}

function answer(request, response) {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json');
    const usage = { input_tokens: 100, output_tokens: 20 };
    response.end(JSON.stringify({ type: 'message', role: 'assistant', model: 'claude-sonnet-5', content: [], usage }));
  });
}
