// The gateway beside proxies that do less, or do it otherwise: node bench/gateway.js '{"task":"throughput","rounds":5}'
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as send } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './measure.js';

const PROXY = join(dirname(fileURLToPath(import.meta.url)), 'gateway-proxy.js');
const RESULT_CHARS = 4000;
/** Until the compiler has seen all of it: with a tenth of this, the gateway adds half as much again to a request of 100 KB. */
const WARM_UP_BYTES = 400_000_000;
const WARM_CONVERSATIONS = 60;
const WARM_REQUESTS = 20_000;
const children = [];
const tasks = { throughput, latency, processor, memory };
const request = JSON.parse(process.argv[2]);
try {
  console.log(JSON.stringify(await tasks[request.task](request)));
} finally {
  for (const child of children) child.kill();
}

/**
 * Requests per second with small bodies, 16 at a time, in short rounds that alternate: neighbours are compared. Also the
 * processor time of the proxy for one request, which a busy machine disturbs less.
 */
async function throughput({ rounds, roundMs }) {
  const proxies = await startAll(['bare', 'palimpsest']);
  const question = 'What does this function do, and why is it slow? '.repeat(20);
  const messages = [{ role: 'user', content: question }];
  const body = Buffer.from(JSON.stringify({ model: 'claude-sonnet-5', max_tokens: 1000, messages }));
  const perSecond = { bare: [], palimpsest: [] };
  const microseconds = { bare: [], palimpsest: [] };
  // Until the compiler has seen all of it.
  for (const proxy of proxies) for (let i = 0; i < WARM_REQUESTS; i += 16) await together(proxy, body);
  for (let round = 0; round < rounds; round++)
    for (const proxy of round % 2 === 0 ? proxies : proxies.toReversed()) {
      const done = await hammer(proxy, body, roundMs);
      perSecond[proxy.kind].push(done.perSecond);
      microseconds[proxy.kind].push(done.microseconds);
    }
  const quotient = median(perSecond.palimpsest.map((count, round) => count / perSecond.bare[round]));
  return {
    bodyBytes: body.length,
    bare: median(perSecond.bare),
    palimpsest: median(perSecond.palimpsest),
    quotient,
    microseconds: { bare: median(microseconds.bare), palimpsest: median(microseconds.palimpsest) },
  };
}

function together(proxy, body) {
  return Promise.all(Array.from({ length: 16 }, () => ask(proxy, body)));
}

async function hammer(proxy, body, milliseconds) {
  const before = await sizes(proxy);
  const end = performance.now() + milliseconds;
  let count = 0;
  const work = async () => {
    for (; performance.now() < end; count++) await ask(proxy, body);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: 16 }, work));
  const perSecond = (1000 * count) / (performance.now() - start);
  const { cpuMs } = await sizes(proxy);
  return { perSecond, microseconds: (1000 * (cpuMs - before.cpuMs)) / count };
}

/**
 * Time to the first byte, one request after the other. Conversations of about the size that is asked for, each of which
 * grows by a turn ten times: either those ten are measured, or the first request of each.
 */
async function latency({ bodyBytes, rounds, isNew }) {
  const proxies = await startAll(['bare', 'rewrite', 'palimpsest']);
  const turns = Math.ceil(bodyBytes / RESULT_CHARS);
  const times = { bare: [], rewrite: [], palimpsest: [] };
  const warmUp = Math.ceil(WARM_UP_BYTES / bodyBytes);
  for (let round = 0; round < rounds + warmUp; round++) {
    const [seed, step] = [Math.floor(round / 11), round % 11];
    const body = Buffer.from(JSON.stringify(conversation(turns - 5 + step, RESULT_CHARS, seed)));
    for (const proxy of round % 2 === 0 ? proxies : proxies.toReversed()) {
      const time = await ask(proxy, body);
      if (round >= warmUp && (step === 0) === isNew) times[proxy.kind].push(time);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([kind, all]) => [kind, median(all)]));
}

/**
 * Processor time of each proxy for a conversation that it never saw, in milliseconds: all of its threads, and the work after the
 * answer too. On a busy machine it varies less than the time to the first byte.
 */
async function processor({ bodyBytes, rounds }) {
  const proxies = await startAll(['bare', 'rewrite', 'palimpsest']);
  const turns = Math.ceil(bodyBytes / RESULT_CHARS);
  const times = { bare: [], rewrite: [], palimpsest: [] };
  for (let round = -WARM_CONVERSATIONS; round < rounds; round++) {
    const body = Buffer.from(JSON.stringify(conversation(turns, RESULT_CHARS, round)));
    for (const proxy of proxies) {
      const before = await sizes(proxy);
      await ask(proxy, body);
      const { cpuMs } = await sizes(proxy);
      if (round >= 0) times[proxy.kind].push(cpuMs - before.cpuMs);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([kind, all]) => [kind, median(all)]));
}

/** Resident memory after so many requests, and after many more. */
async function memory({ requests }) {
  const [proxy] = await startAll(['palimpsest']);
  const resident = [];
  for (const count of [requests / 2, requests]) {
    for (let i = 0; i < count; i += 16) {
      const body = Buffer.from(JSON.stringify(conversation(3 + (i % 40), 1000, i % 7)));
      await together(proxy, body);
    }
    const { rss } = await sizes(proxy);
    resident.push(rss);
  }
  return { first: resident[0], last: resident[1] };
}

/** The resident memory of a proxy, and the processor time that it has used. */
async function sizes({ child }) {
  child.send('sizes');
  const [message] = await once(child, 'message');
  return message;
}

async function startAll(kinds) {
  const upstream = await start('upstream', 0);
  return Promise.all(kinds.map((kind) => start(kind, upstream.port)));
}

async function start(kind, port) {
  const child = fork(PROXY, [kind, String(port)]);
  children.push(child);
  const [message] = await once(child, 'message');
  return { kind, child, port: message.port, agent: new Agent({ keepAlive: true }) };
}

/** Answers the milliseconds to the first byte. */
function ask({ port, agent }, body) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const headers = {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'content-length': body.length,
    };
    const outgoing = send(
      { host: '127.0.0.1', port, path: '/v1/messages', method: 'POST', headers, agent },
      (answer) => {
        const first = performance.now() - start;
        answer.resume();
        answer.on('end', () => resolve(first));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** A request as a coding agent sends it. */
function conversation(turns, resultChars, seed = 0) {
  const marker = { cache_control: { type: 'ephemeral' } };
  const messages = [{ role: 'user', content: `Find out why test ${seed} fails, and fix it.` }];
  for (let turn = 0; turn < turns; turn++) {
    const id = `toolu_${turn}`;
    const call = { type: 'tool_use', id, name: 'read_file', input: { path: `src/part-${turn}.ts` } };
    const last = turn === turns - 1 ? marker : {};
    messages.push({ role: 'assistant', content: [{ type: 'text', text: `I look at part ${turn}.` }, call] });
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: output(turn, resultChars, seed), ...last }],
    });
  }
  const system = [{ type: 'text', text: 'You are a careful engineer. '.repeat(40), ...marker }];
  return { model: 'claude-sonnet-5', max_tokens: 1000, system, messages };
}

function output(turn, chars, seed) {
  const line = `const value${turn} = compute("${seed}", ${turn * 31}); // part ${turn}\n`;
  return line.repeat(Math.ceil(chars / line.length)).slice(0, chars);
}
