import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGateway, type GatewayOptions, type GatewayServer, listen } from '../../../../src/gateway/index.ts';
import { breakEven, polling, slidingWindow } from '../../../../src/index.ts';
import { createMemoryStore } from '../../../../src/store/index.ts';
import { everyProvider } from '../gateway.ts';
import type { RunRequest } from './requests.ts';

/** One way to run the gateway. */
export interface Variant {
  readonly options?: GatewayOptions;
  /** Every so many requests the upstream refuses what the gateway edited; too long, it says. */
  readonly refuseEvery?: number;
}

/** Recorded before results were made smaller on arrival: these bytes must not change where that is off. */
const policy: GatewayOptions['policy'] = (prices) => breakEven({ prices, clean: false, references: false });

export const variants = {
  default: { options: { policy } },
  'sliding-window': { options: { policy: slidingWindow({ turns: 5 }) } },
  polling: { options: { policy: polling({ turns: 10, every: 5 }) } },
  limited: { options: { policy, maxTokens: 40_000 } },
  refusals: { options: { policy }, refuseEvery: 15 },
} satisfies Record<string, Variant>;

export type VariantName = keyof typeof variants;

const SECOND = 1000;
/** A new process takes over, on the same store. */
const RESTART_EVERY = 25;
/** The provider's cache goes cold. */
const PAUSE_EVERY = 40;

/** Sends the requests of a run through a gateway, and answers the hash of all that reached the upstream. */
export async function sendRun(requests: Iterable<RunRequest>, { options = {}, refuseEvery }: Variant): Promise<string> {
  const upstream = await startUpstream(refuseEvery);
  const clock = { now: 1_700_000_000_000 };
  const agent = new Agent({ keepAlive: true });
  const store = createMemoryStore();
  const start = async (): Promise<GatewayServer> => {
    const upstreams = everyProvider(upstream.url);
    return listen(createGateway({ ...options, upstreams, store, now: () => clock.now }), { port: 0 });
  };
  let gateway = await start();
  let count = 0;
  for (const { path, body } of requests) {
    count += 1;
    clock.now += count % PAUSE_EVERY === 0 ? 7200 * SECOND : 10 * SECOND;
    if (count % RESTART_EVERY === 0) {
      await gateway.close();
      gateway = await start();
    }
    await post({ agent, url: `${gateway.url}${path}`, body });
  }
  agent.destroy();
  await gateway.close();
  return upstream.end();
}

interface Upstream {
  readonly url: string;
  /** Closes it; answers the hash of every request. */
  end(): Promise<string>;
}

/** Answers with the usage that a provider would count: a quarter of the bytes. */
async function startUpstream(refuseEvery: number | undefined): Promise<Upstream> {
  const hash: Hash = createHash('sha256');
  let count = 0;
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      hash.update(`${incoming.method} ${incoming.url} ${incoming.headers['anthropic-beta'] ?? ''} ${body.length}\n`);
      hash.update(body);
      count += 1;
      const isRefused = refuseEvery !== undefined && count % refuseEvery === 0;
      const answer = isRefused ? REFUSAL : { usage: usageOf(body), usageMetadata: geminiUsageOf(body) };
      response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    end: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      return hash.digest('hex').slice(0, 16);
    },
  };
}

const REFUSAL = {
  error: { type: 'invalid_request_error', message: 'prompt is too long: 200001 tokens > 200000 maximum' },
};

function usageOf(body: Buffer): object {
  const tokens = Math.ceil(body.length / 4);
  return { input_tokens: tokens, output_tokens: 10, prompt_tokens: tokens, completion_tokens: 10 };
}

function geminiUsageOf(body: Buffer): object {
  return { promptTokenCount: Math.ceil(body.length / 4), candidatesTokenCount: 10 };
}

interface Post {
  readonly agent: Agent;
  readonly url: string;
  readonly body: string;
}

async function post({ agent, url, body }: Post): Promise<void> {
  const outgoing = request(url, {
    method: 'POST',
    agent,
    headers: { ...HEADERS, 'content-length': Buffer.byteLength(body) },
  });
  outgoing.end(body);
  const [response] = await once(outgoing, 'response');
  response.resume();
  await once(response, 'end');
}

const HEADERS = { 'content-type': 'application/json', 'x-api-key': 'a-key', authorization: 'Bearer a-key' };
