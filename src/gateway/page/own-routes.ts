import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerError, answerJson } from '../exchange/answer.ts';
import { pathOf } from '../exchange/route.ts';
import { DEFAULT_TENANT } from '../exchange/tenants.ts';
import { bearerOf, type Guard } from './guard.ts';
import { type ApiOptions, answerApi } from './own-api.ts';

/** Another route that is served next to the API, under the same rules: a token, an allowed host, JSON in. */
export type Mount = (request: IncomingMessage, response: ServerResponse, tenant: string) => unknown;

export interface OwnRoutesOptions extends Omit<ApiOptions, 'tenant'> {
  readonly guard: Guard;
  /** Whether metrics need the gateway's own token: they count all tenants, or other machines can ask. */
  readonly areMetricsGuarded: boolean;
  /** Whether the store has answered since the start. Never rejects. */
  hasReachedStore(): Promise<boolean>;
  /** The mounts, by path. */
  readonly mounts: Readonly<Record<string, Mount>>;
}

/** Answers the gateway's own paths. Returns false for all others, which go to an upstream. */
export function createOwnRoutes(
  options: OwnRoutesOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const path = pathOf(request.url ?? '');
    if (path === '/healthz') answerHealth(response, options.inFlight.isDraining);
    else if (path === '/livez') answerJson(response, 200, { status: 'ok' });
    else if (path === '/readyz') void answerReadiness(options, response);
    else if (path === '/metrics')
      whereOurs(options, request, response, () => answerMetrics(options, request, response));
    else if (path === '/_palimpsest') response.writeHead(308, { location: '/_palimpsest/' }).end();
    else if (path === '/' && isVisit(request))
      whereOurs(options, request, response, () => response.writeHead(302, { location: '/_palimpsest/' }).end());
    else if (path.startsWith('/_palimpsest/'))
      whereOurs(options, request, response, () => answerOwn(options, request, response, path));
    else return false;
    return true;
  };
}

/** Whether a person opens the address in a browser. Only browsers send this header, and only for pages, not for requests of scripts. */
const isVisit = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate';

function answerHealth(response: ServerResponse, isClosing: boolean): void {
  answerJson(response, isClosing ? 503 : 200, { status: isClosing ? 'closing' : 'ok' });
}

/**
 * Not ready before the store has answered once, so that a new gateway with a wrong address takes no traffic from others. Later trouble
 * with the store does not matter: a gateway still forwards without it, and otherwise all gateways would stop at once.
 */
async function answerReadiness(
  { inFlight, hasReachedStore }: OwnRoutesOptions,
  response: ServerResponse,
): Promise<void> {
  const isReached = inFlight.isDraining || (await hasReachedStore());
  if (inFlight.isDraining) answerJson(response, 503, { status: 'closing' });
  else answerJson(response, isReached ? 200 : 503, { status: isReached ? 'ready' : 'waiting for the store' });
}

async function answerMetrics(
  { records, guard, areMetricsGuarded }: OwnRoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isOperator = guard.tenantOf(bearerOf(request.headers.authorization)) === DEFAULT_TENANT;
  if (areMetricsGuarded && !isOperator) return answerNoToken(response);
  const text = await records.metrics();
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
}

/** Refuses foreign hosts and origins, and answers errors in words. */
function whereOurs(
  { guard }: OwnRoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
  answer: () => unknown,
): void {
  const message = guard.refusalOfOwn(request.headers);
  if (message !== undefined) {
    answerError(response, 403, { code: 'FORBIDDEN', message });
    return;
  }
  void Promise.resolve()
    .then(answer)
    .catch(() => answerError(response, 500, { code: 'FAILED', message: 'The gateway could not answer this' }));
}

function answerOwn(
  options: OwnRoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): unknown {
  const mount = Object.hasOwn(options.mounts, path) ? options.mounts[path] : undefined;
  if (!mount && !path.startsWith(API)) return answerFile(request, response, path);
  const tenant = options.guard.tenantOf(bearerOf(request.headers.authorization));
  if (tenant === undefined) return answerNoToken(response);
  if (request.method === 'POST' && !/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    return answerError(response, 415, { code: 'BAD_INPUT', message: 'Expected JSON' });
  if (options.inFlight.isClosing)
    return answerError(response, 503, { code: 'CLOSING', message: 'The gateway is stopping' });
  if (mount) {
    // By the rules of MCP, a GET there is a stream of events.
    if (request.method === 'GET') options.inFlight.endAtClose(response);
    return mount(request, response, tenant);
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return notAllowed(response);
  return answerApi({ ...options, tenant }, request, response, (request.url ?? '').slice(API.length));
}

const API = '/_palimpsest/api/';

function answerNoToken(response: ServerResponse): void {
  response.setHeader('www-authenticate', 'Bearer');
  answerError(response, 401, {
    code: 'TOKEN',
    message: 'Expected the bearer token that the gateway printed at its start',
  });
}

function notAllowed(response: ServerResponse): void {
  response.setHeader('allow', 'GET, HEAD');
  answerError(response, 405, { code: 'BAD_INPUT', message: 'Expected a GET' });
}

/** The same folder from src/, where tests run, and from dist/, which is published. */
const FOLDER = new URL('../../../dist/web/dashboard/', import.meta.url);

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/_palimpsest/': ['index.html', 'text/html; charset=utf-8'],
  '/_palimpsest/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/_palimpsest/style.css': ['style.css', 'text/css; charset=utf-8'],
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
].join('; ');

/** The page itself holds no secret: its content comes from the API. */
async function answerFile(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  const [file, type] = FILES[path] ?? [];
  if (!file || !type) return answerError(response, 404, { code: 'NOT_FOUND', message: 'There is nothing here' });
  if (request.method !== 'GET' && request.method !== 'HEAD') return notAllowed(response);
  const content = await readFile(new URL(file, FOLDER)).catch(() => undefined);
  if (!content)
    return answerError(response, 503, { code: 'NOT_FOUND', message: 'The page was not built: npm run build' });
  response.writeHead(200, {
    'content-type': type,
    'content-length': content.length,
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-cache',
  });
  response.end(request.method === 'HEAD' ? undefined : content);
}
