import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FormatName } from '../../src/index.ts';

/** Real histories, kept beside the repository. */
export const CORPUS = fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
export const hasCorpus = existsSync(CORPUS);

export interface History {
  readonly name: string;
  readonly format: FormatName;
  readonly messages: readonly unknown[];
}

/** The histories that hold messages of a format of ours. The other agents' logs are for the lab's readers. */
export function corpusHistories(): History[] {
  if (!hasCorpus) return [];
  return readdirSync(CORPUS).flatMap((folder) => {
    const reader = READERS.find(([start]) => folder.startsWith(start));
    if (!reader) return [];
    const [, format, read] = reader;
    return readdirSync(join(CORPUS, folder)).flatMap((file) => {
      const runs = read(readFileSync(join(CORPUS, folder, file), 'utf8')).filter((messages) => messages.length > 0);
      return runs.map((messages, run) => ({ name: `${folder}/${file}#${run}`, format, messages }));
    });
  });
}

type Fields = Record<string, unknown>;
type Runs = unknown[][];

const READERS: readonly (readonly [folder: string, FormatName, (text: string) => Runs])[] = [
  ['taubench', 'openai-chat', (text) => (JSON.parse(text) as { traj: unknown[] }[]).map((task) => task.traj)],
  ['adp-swegym-openhands', 'openai-chat', messagesOf],
  ['mini-gemini3pro', 'openai-chat', messagesOf],
  ['cline-sdk', 'anthropic', messagesOf],
  ['codex', 'openai-responses', codexItems],
  ['claude', 'anthropic', claudeMessages],
  ['gemini', 'gemini', geminiContents],
  ['pi', 'pi', piMessages],
];

function messagesOf(text: string): Runs {
  return [(JSON.parse(text) as { messages: unknown[] }).messages];
}

const linesOf = (text: string): Fields[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));

/** Both layouts: items as lines, or as the payloads of `response_item`. A compaction begins a new run. */
function codexItems(text: string): Runs {
  const runs: Runs = [[]];
  for (const line of linesOf(text)) {
    const payload = line.payload as Fields | undefined;
    if (line.type === 'compacted') runs.push([...((payload?.replacement_history as unknown[]) ?? [])]);
    else if (line.type === 'response_item') runs.at(-1)?.push(payload);
    else if (payload === undefined && typeof line.type === 'string') runs.at(-1)?.push(line);
  }
  return runs;
}

/** A compaction begins a new run. Lines that were written at the same time and ran into each other are left out. */
function piMessages(text: string): Runs {
  const runs: Runs = [[]];
  for (const line of text.split('\n')) {
    const record = line.includes('}{"type"') ? undefined : linesOf(line)[0];
    if (record?.type === 'compaction') runs.push([]);
    else if (record?.type === 'message') runs.at(-1)?.push(record.message);
  }
  return runs;
}

interface Message {
  role: string;
  content: unknown[];
}

/**
 * Claude Code writes one line for each block of a reply, and one for each result, as they come.
 * What goes out has one message for a reply and one for all that answers it, results first.
 */
function claudeMessages(text: string): Runs {
  const runs: Message[][] = [[]];
  const replies = new Map<unknown, Message>();
  const lines = linesOf(text).filter((line) => line.type === 'user' || line.type === 'assistant');
  for (const line of lines) {
    const { id, role, content } = line.message as { id?: string; role: string; content: unknown };
    if (line.isSidechain !== lines[0]?.isSidechain) continue;
    if (line.isCompactSummary) runs.push([]);
    const run = runs.at(-1) as Message[];
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as unknown[]);
    const last = run.at(-1);
    const open = id === undefined ? (last?.role === 'user' ? last : undefined) : replies.get(id);
    if (open) open.content.push(...blocks);
    else {
      const message = { role, content: [...blocks] };
      run.push(message);
      if (id !== undefined) replies.set(id, message);
    }
  }
  for (const message of runs.flat()) message.content.sort((a, b) => Number(isResult(b)) - Number(isResult(a)));
  return runs;
}

const isResult = (block: unknown): boolean => (block as Fields).type === 'tool_result';

interface GeminiLine {
  readonly type: string;
  readonly content: unknown;
  readonly toolCalls?: readonly { id: string; name: string; args: unknown; result?: unknown[] }[];
}

/** Gemini CLI keeps the response parts as they were sent; the calls stand beside them, without their signatures. */
function geminiContents(text: string): Runs {
  const lines = (JSON.parse(text) as { messages: GeminiLine[] }).messages;
  const contents = lines.flatMap(({ type, content, toolCalls = [] }) => {
    const texts = typeof content === 'string' ? (content === '' ? [] : [{ text: content }]) : (content as unknown[]);
    if (type === 'user') return [{ role: 'user', parts: texts }];
    if (type !== 'gemini') return [];
    const calls = toolCalls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }));
    const results = toolCalls.flatMap(({ result = [] }) => result);
    const reply = { role: 'model', parts: [...texts, ...calls] };
    return results.length > 0 ? [reply, { role: 'user', parts: results }] : [reply];
  });
  return [contents];
}
