import type { Script } from '../../provider/script.ts';

/** A scripted job: how long it is, what its tools answer, and how the client asks. */
export interface Job {
  /** Replies with calls; one more ends the job. */
  readonly turns: number;
  readonly streams?: boolean;
  /** Calls of every third reply; the others make one. */
  readonly parallel?: number;
  /** The size of each result. */
  readonly resultChars?: number;
  readonly thinks?: boolean;
  /** Whether the task and some of the results have images, where the API takes them. */
  readonly hasImages?: boolean;
  readonly model?: string;
  /** In its first words: conversations with other tasks get other ids. */
  readonly task?: string;
  /** How often the client sends a request again whose connection broke. @default 0 */
  readonly retries?: number;
}

/** What a client saw of a conversation. */
export interface Seen {
  readonly texts: readonly string[];
  readonly thoughts: readonly string[];
  readonly calls: readonly SeenCall[];
}

export interface SeenCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A client from npm that can hold a conversation with tools. */
export interface Client {
  readonly name: string;
  readonly api: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';
  /** `url` has no path: each client adds its own. */
  converse(url: string, job: Job): Promise<Seen>;
}

export const taskOf = ({ task = 'Find out why the tests fail, and fix it.' }: Job): string => task;
export const SYSTEM = 'You are a careful engineer. Read before you write, and test what you changed. '.repeat(80);

const TOOLS = ['read_file', 'bash', 'grep'] as const;

/** The tools of every job, with their schemas. */
export const TOOL_SCHEMAS = [
  {
    name: 'read_file',
    description: 'Reads a file.',
    schema: { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] },
  },
  {
    name: 'bash',
    description: 'Runs a command.',
    schema: { type: 'object' as const, properties: { command: { type: 'string' } }, required: ['command'] },
  },
  {
    name: 'grep',
    description: 'Searches for a pattern.',
    schema: { type: 'object' as const, properties: { pattern: { type: 'string' } }, required: ['pattern'] },
  },
];

/** What the provider is told to say in a job. */
export function jobScript({ turns, parallel = 1, thinks = false }: Job): Script {
  return ({ turn }) => {
    const thinking = thinks ? { thinking: `Let me think about step ${turn}. It is not obvious.` } : {};
    if (turn >= turns) return { ...thinking, text: `All ${turns} steps are done. ✓` };
    const count = turn % 3 === 2 ? parallel : 1;
    const calls = Array.from({ length: count }, (_, i) => callOf(turn, i));
    return { ...thinking, text: `Step ${turn}: I look at “${JSON.stringify(calls[0]?.input)}”.`, calls };
  };
}

function callOf(turn: number, index: number): { name: string; input: Record<string, string> } {
  const name = TOOLS[(turn + index) % TOOLS.length] ?? 'bash';
  const about = `${turn}-${index}`;
  if (name === 'read_file') return { name, input: { path: `src/part-${about}.ts` } };
  if (name === 'bash') return { name, input: { command: `npm test -- --part ${about}` } };
  return { name, input: { pattern: `part${turn}.*"${index}"` } };
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
  readonly hasImage: boolean;
}

/** What a tool answers: the same to the same question. */
export function runTool(name: string, input: unknown, { resultChars = 1200, hasImages = false }: Job): ToolResult {
  const about = JSON.stringify(input);
  const seed = Array.from(about).reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) >>> 0, 7);
  const isError = seed % 11 === 0;
  const lines: string[] = [isError ? `Error: ${name} failed, exit 1` : `${name} ${about}`];
  for (let size = 0, line = 1; size < resultChars; line++) {
    const text = `${line}\t const value${seed % 97} = compute(${(seed * line) % 9973}); // "${name}" · ${line}`;
    lines.push(text);
    size += text.length;
  }
  return { text: lines.join('\n').slice(0, resultChars), isError, hasImage: hasImages && seed % 7 === 0 };
}
