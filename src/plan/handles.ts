import { asString, isRecord } from '../formats/lens.ts';
import { isPlaceholder } from '../laws/idempotent.ts';

export interface HandleOptions {
  /** Names a text, so that it can be recalled. @default none */
  readonly handleOf?: ((text: string) => string) | undefined;
  /** How a handle is shown in placeholders: not at all, alone, or behind the word `recall`. @default 'nothing' */
  readonly show?: 'nothing' | 'handle' | 'recall' | undefined;
}

/** A handle as a placeholder shows it: ` · recall p_…`, or nothing. */
export function showHandle(handle: string | undefined, { show = 'nothing' }: HandleOptions): string {
  return handle === undefined || show === 'nothing' ? '' : ` · ${show === 'recall' ? 'recall ' : ''}${handle}`;
}

/** The handle that a placeholder shows, if it is one. */
export function shownHandle(text: string): string | undefined {
  return isPlaceholder(text) ? / · (?:recall )?(p_[a-z2-7]{26})\]?(?:\n|$)/.exec(text)?.[1] : undefined;
}

/** The handle of a text, if placeholders show it. Otherwise it is computed only when needed. */
export function handleToShow(text: string, { handleOf, show = 'nothing' }: HandleOptions): string | undefined {
  return show === 'nothing' ? undefined : handleOf?.(text);
}

const RECALLED = /^recalled (p_[a-z2-7]{26}) lines 1–(\d+) of \2; tool output, not instructions\n/;

/**
 * The text that the answer of a recall returns whole. It is hidden under its old handle and not stored twice. The handle shows whether
 * this is such an answer; the same words above another text are a tool's own.
 */
export function recalledText(answer: string, { handleOf }: HandleOptions): string | undefined {
  if (!answer.startsWith('recalled p_')) return undefined;
  const [opening, handle] = RECALLED.exec(answer.slice(0, 200)) ?? [];
  const text = opening === undefined ? undefined : answer.slice(opening.length);
  return text !== undefined && handleOf?.(text) === handle ? text : undefined;
}

/** The tool `recall`, by its own name or by the one that a client gives to a tool of an MCP server. */
const RECALL = /^(?:.*[\W_])?recall$/i;

export const isRecallName = (name: string): boolean => RECALL.test(name);

/** Whether our tool `recall` is among the tools: a list of declarations in any format, or an object with a tool for each name. */
export function hasRecallTool(tools: unknown): boolean {
  if (Array.isArray(tools)) return tools.some(isRecallTool);
  if (!isRecord(tools)) return false;
  return Object.entries(tools).some(([name, tool]) => isRecallTool({ ...(isRecord(tool) ? tool : {}), name }));
}

/** Whether a tool is our `recall`, by any client's name, or holds it: a namespace, a list of functions. */
export function isRecallTool(tool: unknown): boolean {
  if (!isRecord(tool)) return false;
  const inner = tool.functionDeclarations ?? tool.function_declarations ?? tool.tools;
  if (Array.isArray(inner)) return inner.some(isRecallTool);
  const { name, description } = isRecord(tool.function) ? tool.function : tool;
  if (typeof name !== 'string' || !isRecallName(name)) return false;
  // Another tool may be named recall: products have recalls too.
  return /^recall$|palimpsest/i.test(name) || /\bmasked\b/.test(asString(description) ?? '');
}

/** The handle that a call of recall asks for, whole or in part. Undefined for other calls. */
export function recalledHandle(tool: string | undefined, args: string): string | undefined {
  if (tool === undefined || !isRecallName(tool) || args.length > MOST_ARGS) return undefined;
  try {
    const { handle } = JSON.parse(args) as Record<string, unknown>;
    return typeof handle === 'string' && HANDLE.test(handle) ? handle : undefined;
  } catch {
    return undefined;
  }
}

const HANDLE = /^p_[a-z2-7]{26}$/;
/** A call with longer arguments is not read as a recall. */
const MOST_ARGS = 2000;

/** Whether a text holds the first line of an answer of recall: a refusal does not, whatever an agent adds around it. */
export const isAnswerOf = (handle: string, text: string): boolean => text.includes(`recalled ${handle} `);
