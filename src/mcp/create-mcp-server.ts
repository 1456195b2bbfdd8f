import { createRequire } from 'node:module';
import {
  type CallToolResult,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PalimpsestError } from '../errors.ts';
import { recallLimits } from '../limits.ts';
import { badOption } from '../options.ts';
import type { Report } from '../plan/report.ts';
import { CHECK_HANDLE, mayList } from '../store/access.ts';
import { checkRecallInput, type RecallInput, recallParameters } from '../store/recall-tool/recall-input.ts';
import { checkAnswerSize, recallDescription } from '../store/recall-tool/recall-tool.ts';
import { checkSession, type Store } from '../store/store.ts';
import type { TextAndImages } from '../store/stored-images.ts';
import { contextReport } from './context-report.ts';
import { listMasked } from './list-masked.ts';
import { listTurns } from './list-turns.ts';
import { recallMasked } from './recall-masked.ts';
import { searchMasked } from './search-masked.ts';

/**
 * The store that an MCP server opens, and for which callers. `recall` answers every handle of the store. To list and search, the
 * caller must prove which conversations are its own: `session`, `credential` or `wholeStore`.
 */
export interface McpOptions {
  /**
   * Opened for one tenant: the server sees nothing else. It is not closed with the server. A function is called on every call of a
   * tool, because an agent may start the server before anything was stored.
   */
  readonly store: Store | (() => Promise<Store>);
  /** Search and list look into this session only, and need no handle. @default none */
  readonly session?: string | undefined;
  /**
   * The client's key or token at the provider: a handle opens the conversation that holds it among those that a
   * gateway forwarded with this credential. Over HTTP each request may carry its own instead. @default none
   */
  readonly credential?: string | undefined;
  /** The store has one user: a handle opens every session that holds it. @default false */
  readonly wholeStore?: boolean | undefined;
  /** Returns the report of a session's last request, for `context_report`. Undefined if nothing is known. @default none */
  readonly report?: (session: string) => Report | undefined | Promise<Report | undefined>;
  /** The most characters of an answer. @default 20000 */
  readonly maxChars?: number;
}

/** The settings and the open store, for a tool. */
export interface McpContext extends McpOptions {
  readonly store: Store;
  readonly maxChars: number;
  /** Aborted once the client is gone or has cancelled its call. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * An MCP server for one client. Connect it to a transport, or let `serveStdio` or `serveHttp` do so.
 *
 * @example
 * ```ts
 * import { createMcpServer } from 'palimpsest/mcp';
 *
 * const server = createMcpServer({ store, session: 'ticket-42' });
 * ```
 */
export function createMcpServer(options: McpOptions): McpServer {
  checkMcpOptions(options);
  const server = new McpServer(
    { name: 'palimpsest', title: 'Palimpsest', version },
    { instructions: instructionsFor(options) },
  );
  registerTools(server, { ...options, maxChars: options.maxChars ?? recallLimits.answerChars });
  return server;
}

/** Throws BAD_OPTION. A server is made for each client, so options are checked before the first one connects. */
export function checkMcpOptions({ maxChars, session, credential, wholeStore }: McpOptions): void {
  if (maxChars !== undefined) checkAnswerSize(maxChars);
  if (session !== undefined) checkSession(session);
  if (session !== undefined && wholeStore) throw badOption('wholeStore', 'false with a session', wholeStore);
  // The credential is a secret, so the error does not show it.
  if (credential !== undefined && (typeof credential !== 'string' || credential === ''))
    throw badOption('credential', 'a text that is not empty', typeof credential);
}

const version: string = createRequire(import.meta.url)('../../package.json').version;

const instructionsFor = (options: McpOptions): string =>
  `${RECALL}${mayList(options) ? ` ${SEARCH}` : ''} Run the tool again only if its result may have changed.`;

const RECALL = `Old tool results in your context may have been replaced by placeholders such as
[read_file src/a.ts: 212 lines, 7431 chars masked · recall p_3kf2q2m7abcdefghijklmnopqr]
Nothing is lost. Instead of running the tool again, call recall with the handle (p_…) and the part you need: grep or lines. Without a part you get a short text whole, and an outline of a long one.`;

const SEARCH =
  'When you do not know which placeholder hides what you need, call search_masked or list_masked with any handle of your context.';

const handle = z
  .string({ error: `Expected a handle, a text. ${CHECK_HANDLE}` })
  .describe('The handle in a placeholder: p_ and 26 lower-case letters and digits.');
/** The same schema and the same checks as in any other program that has the tool. */
const recallInput: StandardSchemaWithJSON<RecallInput> = {
  '~standard': {
    version: 1,
    vendor: 'palimpsest',
    validate: (value) => {
      try {
        return { value: checkRecallInput(value) };
      } catch (error) {
        return { issues: [{ message: (error as Error).message }] };
      }
    },
    jsonSchema: { input: () => recallParameters, output: () => recallParameters },
  },
};

const skip = z
  .int()
  .min(0)
  .max(recallLimits.position)
  .optional()
  .describe('Skip this many, to continue where the last answer was cut.');

const searchInput = (scope: z.ZodType<string | undefined>) =>
  z.strictObject({
    query: z.string().min(1).max(recallLimits.queryChars).describe('The text to look for.'),
    handle: scope,
    regex: z.boolean().optional().describe('The query is a JavaScript regular expression.'),
    ignore_case: z.boolean().optional().describe('Capitals and small letters are the same.'),
    limit: z
      .int()
      .min(1)
      .max(recallLimits.matches)
      .optional()
      .describe('At most this many matching lines. Default 50.'),
    skip,
  });

const listInput = (scope: z.ZodType<string | undefined>) => z.strictObject({ handle: scope, skip });

const turnsInput = (scope: z.ZodType<string | undefined>) =>
  z.strictObject({
    handle: scope,
    turn: z.int().min(0).max(recallLimits.position).optional().describe('Only this turn, with its texts.'),
    skip,
    offset: z
      .int()
      .min(0)
      .max(recallLimits.position)
      .optional()
      .describe('With turn: skip this many characters, to continue in a long turn.'),
  });

const READ_ONLY: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

interface Settings extends McpOptions {
  readonly maxChars: number;
}

function registerTools(server: McpServer, settings: Settings): void {
  const own = 'Any handle of your own context: it shows which conversation is yours.';
  const scope =
    settings.session === undefined ? handle.describe(own) : handle.optional().describe(`${own} Not needed.`);
  server.registerTool(
    'recall',
    {
      title: 'Recall masked text',
      description: recallDescription(settings.maxChars),
      inputSchema: recallInput,
      annotations: READ_ONLY,
    },
    (input, call) => answer(settings, call, (context) => recallMasked(context, input)),
  );
  server.registerTool(
    'search_masked',
    {
      title: 'Search masked text',
      description:
        'Finds lines in all masked tool results of your conversation, for when you do not know which placeholder hides what you need. Answers handle and line number of each match; recall with lines reads around it.',
      inputSchema: searchInput(scope),
      annotations: READ_ONLY,
    },
    (input, call) => answer(settings, call, (context) => searchMasked(context, input)),
  );
  server.registerTool(
    'list_masked',
    {
      title: 'List masked texts',
      description:
        'Lists the masked tool results of your conversation, oldest first: handle, turn, tool, size and first line of each.',
      inputSchema: listInput(scope),
      annotations: READ_ONLY,
    },
    (input, call) => answer(settings, call, (context) => listMasked(context, input)),
  );
  server.registerTool(
    'list_turns',
    {
      title: 'List turns',
      description:
        'Lists the recorded turns of your conversation, also those that are no longer in your context: number, call, size, and the handles of masked results. With turn it shows one turn: reasoning, action, observation. recall with a handle gives the whole result.',
      inputSchema: turnsInput(scope),
      annotations: READ_ONLY,
    },
    (input, call) => answer(settings, call, (context) => listTurns(context, input)),
  );
  server.registerTool(
    'context_report',
    {
      title: 'Report on the context',
      description:
        'Tells how much of your conversation is masked: number and size of the texts, by tool, and the largest ones.',
      inputSchema: z.strictObject({ handle: handle.optional().describe(own) }),
      annotations: READ_ONLY,
    },
    (input, call) => answer(settings, call, (context) => contextReport(context, input)),
  );
}

/** A mistake of the model becomes an answer that it can read. */
async function answer(
  settings: Settings,
  call: ServerContext,
  tool: (context: McpContext) => Promise<string | TextAndImages>,
): Promise<CallToolResult> {
  running.add(call);
  try {
    // If the client left before the SDK listened, nothing aborts its calls.
    call.http?.req?.signal.throwIfAborted();
    const store = typeof settings.store === 'function' ? await settings.store() : settings.store;
    const answered = await tool({ ...settings, store, signal: call.mcpReq.signal });
    const { text, images } = typeof answered === 'string' ? { text: answered, images: [] } : answered;
    return { content: [{ type: 'text', text }, ...images.map((image) => ({ type: 'image' as const, ...image }))] };
  } catch (error) {
    const text = error instanceof PalimpsestError ? error.message : `The store failed: ${(error as Error).message}`;
    return { content: [{ type: 'text', text }], isError: true };
  } finally {
    running.delete(call);
  }
}

/** Keeps the HTTP requests of calls: Node does not abort the signal of a `Request` that was garbage-collected. */
const running = new Set<ServerContext>();
