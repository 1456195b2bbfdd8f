import { isRecord } from '../../formats/lens.ts';
import { badOption, count, nearest } from '../../options.ts';
import { LONGEST_TIMER_MS } from '../../store/in-time.ts';
import { TextWithImages } from '../../store/stored-images.ts';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import type { ToolDefinition } from './model.ts';
import { errorText, resultText } from './result-text.ts';

/** A schema of a library such as zod, valibot or arktype: https://standardschema.dev */
export interface StandardSchema<A> {
  /** The fields of the Standard Schema specification. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaResult<A> | Promise<SchemaResult<A>>;
    readonly types?: { readonly input: unknown; readonly output: A } | undefined;
    readonly jsonSchema?: { input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown> };
  };
}

type SchemaResult<A> =
  | { readonly value: A; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** The second argument of a tool's `run`. */
export interface ToolContext {
  /** The id of the call. */
  readonly callId: string;
  /** Aborted when the run is aborted or the tool has exceeded its time limit. */
  readonly signal: AbortSignal;
}

/** A tool that the model may call. An error of `run` becomes an error result, which the model reads. */
export interface Tool<A = unknown> {
  /** The name by which the model calls it. */
  readonly name: string;
  /** The description that the model reads. */
  readonly description?: string;
  /** A schema that checks the arguments (zod and others), or a plain JSON schema, which only informs the model. */
  readonly parameters?: StandardSchema<A> | Readonly<Record<string, unknown>>;
  /** Whether a person must approve a call first. @default false */
  readonly needsApproval?: boolean | NeedsApproval<A>;
  /** The time limit of this tool; 0 for none. @default that of the run */
  readonly timeoutMs?: number;
  /** Runs the tool. Answers a text, its bytes, or a value that can be written as JSON. */
  run(args: A, context: ToolContext): unknown;
}

/** Written as a method, so that tools of different arguments fit into one list. */
type NeedsApproval<A> = { ask(args: A): boolean | Promise<boolean> }['ask'];

/**
 * Defines a tool whose arguments have the type of its schema.
 *
 * @example
 * ```ts
 * import { defineTool } from 'palimpsest/manager';
 * import { z } from 'zod';
 *
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => String(a + b),
 * });
 * ```
 */
export function defineTool<A>(tool: Tool<A>): Tool {
  return tool as unknown as Tool;
}

/** The tools of a run by name, and their definitions for the model. */
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly definitions: readonly ToolDefinition[];
}

/** Checks the tools before any request. */
export function createToolbox(list: readonly Tool[]): Toolbox {
  const tools = new Map<string, Tool>();
  for (const tool of list) {
    checkTool(tool);
    if (tools.has(tool.name)) throw badOption('the name of each tool', 'its own', tool.name);
    tools.set(tool.name, tool);
  }
  return { tools, definitions: list.map(definitionOf) };
}

function checkTool(tool: Tool): void {
  if (!NAME.test(tool?.name ?? ''))
    throw badOption('the name of a tool', '1 to 64 letters, digits, _ and -', tool?.name);
  const { name, run, timeoutMs, parameters } = tool;
  if (typeof run !== 'function') throw badOption(`run of the tool ${name}`, 'a function', run);
  if (timeoutMs !== undefined && !count.check(timeoutMs))
    throw badOption(`timeoutMs of the tool ${name}`, count.expected, timeoutMs);
  if (parameters !== undefined && !isStandard(parameters) && !isRecord(parameters))
    throw badOption(`parameters of the tool ${name}`, 'a schema', parameters);
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

function definitionOf({ name, description = '', parameters }: Tool): ToolDefinition {
  return { name, description, parameters: jsonSchemaOf(name, parameters) };
}

function jsonSchemaOf(name: string, parameters: Tool['parameters']): Readonly<Record<string, unknown>> {
  if (parameters === undefined) return { type: 'object', properties: {} };
  if (!isStandard(parameters)) return parameters;
  const write = parameters['~standard'].jsonSchema;
  if (!write) {
    const expected = 'a schema that can write itself as JSON schema, or a JSON schema';
    throw badOption(`parameters of the tool ${name}`, expected, parameters['~standard'].vendor);
  }
  const { $schema: _dialect, ...schema } = write.input({ target: 'draft-2020-12' });
  return schema;
}

function isStandard(schema: unknown): schema is StandardSchema<unknown> {
  return (
    (isRecord(schema) || typeof schema === 'function') && isRecord((schema as Record<string, unknown>)['~standard'])
  );
}

/** A call that can be run, or why it cannot. */
export type PreparedCall =
  | { readonly call: ToolCall; readonly tool: Tool; readonly args: unknown }
  | { readonly call: ToolCall; readonly refused: ToolResult };

/** Finds the tool of a call and checks its arguments. */
export async function prepareCall({ tools }: Toolbox, call: ToolCall): Promise<PreparedCall> {
  const tool = tools.get(call.name);
  if (!tool) return { call, refused: failed(call, unknownTool(call.name, [...tools.keys()])) };
  if (call.malformed !== undefined) {
    return {
      call,
      refused: failed(call, `expected the arguments of ${call.name} as JSON but found: ${call.malformed}`),
    };
  }
  if (!isStandard(tool.parameters)) return { call, tool, args: call.arguments };
  const checked = await checkArguments(tool.parameters, call.arguments);
  if (!checked.issues) return { call, tool, args: checked.value };
  const issues = checked.issues.map(({ path = [], message }) => `${pathText(path)}${message}`).join('; ');
  return { call, refused: failed(call, `the arguments of ${call.name} are not what it takes: ${issues}`) };
}

/** A check of the user's own inside a schema may throw. */
async function checkArguments(schema: StandardSchema<unknown>, given: unknown): Promise<SchemaResult<unknown>> {
  try {
    return await schema['~standard'].validate(given);
  } catch (error) {
    return { issues: [{ message: errorText(error) }] };
  }
}

function unknownTool(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `there is no tool ${name}; ${near ? `did you mean ${near}?` : `there are ${known.join(', ') || 'none'}`}`;
}

function pathText(path: readonly unknown[]): string {
  const keys = path.map((key) => String(isRecord(key) ? key.key : key));
  return keys.length > 0 ? `${keys.join('.')}: ` : '';
}

/** How a call is run. */
interface RunCallOptions {
  readonly signal: AbortSignal;
  /** 0 is no limit. */
  readonly timeoutMs: number;
}

/** Runs a call to its end, its time limit or the end of the run, whichever comes first. It never throws. */
export async function runCall(prepared: PreparedCall, { signal, timeoutMs }: RunCallOptions): Promise<ToolResult> {
  if ('refused' in prepared) return prepared.refused;
  const { call, tool, args } = prepared;
  if (signal.aborted) return failed(call, ABORTED);
  const limitMs = tool.timeoutMs ?? timeoutMs;
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  const timer = limitMs > 0 ? setTimeout(abort, Math.min(limitMs, LONGEST_TIMER_MS)) : undefined;
  try {
    return await unlessAborted(finished(tool, { call, args, signal: stop.signal }), stop.signal);
  } catch {
    return failed(call, signal.aborted ? ABORTED : `${call.name} did not finish within ${limitMs} ms and was stopped`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

const ABORTED = 'the run was aborted before this call had finished';

/** Rejects as soon as the signal is aborted, even if the work ignores the signal. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function finished(
  tool: Tool,
  { call, args, signal }: { readonly call: ToolCall; readonly args: unknown; readonly signal: AbortSignal },
): Promise<ToolResult> {
  try {
    const value = await tool.run(args, { callId: call.id, signal });
    const images = value instanceof TextWithImages ? { images: value.images } : {};
    return { call, text: resultText(value instanceof TextWithImages ? value.text : value), isError: false, ...images };
  } catch (error) {
    return failed(call, errorText(error));
  }
}

/** The text says that the call failed, because some formats have no error flag. */
export const failed = (call: ToolCall, why: string): ToolResult => ({ call, text: `Error: ${why}`, isError: true });
