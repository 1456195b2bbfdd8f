// Several gateways on one PostgreSQL: processor time, statements and transactions per request, lock waits, and requests per second.
//   npm run build && node bench/gateway-team.js '{"conversations":8,"turns":40}'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startPostgres } from './postgres-server.js';

const { conversations = 8, turns = 40, gateways = [1, 2, 4] } = JSON.parse(process.argv[2] ?? '{}');
const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const TICK_MS = 10;
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
  console.log(
    `${conversations} conversations of ${turns} requests, each request at the next gateway; ${availableParallelism()} cores\n`,
  );
  console.log('gateways  CPU ms/request  statements/request  transactions/request  lock waits seen  requests/s');
  for (const count of gateways) console.log(await measure(count));
} finally {
  upstream.close();
  upstream.closeAllConnections();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(count) {
  const database = `team_${count}`;
  const url = await createDatabase(database);
  const running = await Promise.all(Array.from({ length: count }, () => startGateway(url)));
  const watcher = new pg.Client({ connectionString: url, application_name: 'bench' });
  await watcher.connect();
  // The first requests connect, prepare statements and compile code.
  await converse(running, { name: 'warm', turns: 10 });
  const before = { cpuMs: cpuOf(running), ...(await countsOf(watcher, database)) };
  const locks = watchLocks(watcher);
  const began = performance.now();
  await Promise.all(Array.from({ length: conversations }, (_, i) => converse(running, { name: `c${i}`, turns })));
  const seconds = (performance.now() - began) / 1000;
  const lockWaits = await locks.stop();
  // Records are written behind the requests, a second later.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const after = { cpuMs: cpuOf(running), ...(await countsOf(watcher, database)) };
  after.transactions -= lockWaits.looks;
  await watcher.end();
  await Promise.all(running.map(({ stop }) => stop()));
  const requests = conversations * turns;
  const per = (name) => ((after[name] - before[name]) / requests).toFixed(2);
  const cells = [
    per('cpuMs'),
    per('statements'),
    per('transactions'),
    `${lockWaits.waits} of ${lockWaits.looks} looks`,
  ];
  return [
    String(count).padEnd(8),
    ...cells.map((cell) => cell.padStart(18)),
    (requests / seconds).toFixed(0).padStart(10),
  ].join(' ');
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
  return running.reduce((sum, { pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }, 0);
}

/** Statements of the gateways, and transactions in their database. */
async function countsOf(client, database) {
  const { rows } = await client.query(
    "SELECT coalesce(sum(calls), 0) AS statements FROM pg_stat_statements JOIN pg_database d ON d.oid = dbid WHERE datname = $1 AND query !~ 'pg_stat'",
    [database],
  );
  const { rows: totals } = await client.query('SELECT xact_commit FROM pg_stat_database WHERE datname = $1', [
    database,
  ]);
  return { statements: Number(rows[0].statements), transactions: Number(totals[0].xact_commit) };
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

/** One conversation, which grows by a call and its result with each request. */
async function converse(running, { name, turns: count }) {
  const messages = [{ role: 'user', content: `Task of ${name}` }];
  for (let turn = 0; turn < count; turn++) {
    const { url } = running[turn % running.length];
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
