import { type Json, marked } from './requests.ts';

/** The results of one turn: texts that repeat what was seen, that can be cleaned, or neither. */
export interface Turn {
  readonly shows: 'file' | 'shell' | 'twice' | 'unlike';
  /** The first line of the file that is shown. */
  readonly from: number;
}

const fileLines = (from: number, count = 40): string =>
  Array.from(
    { length: count },
    (_, i) => `${from + i}\tconst value${from + i} = compute(${(from + i) * 37}, 'a');`,
  ).join('\n');

const shellOutput = (turn: number): string =>
  Array.from(
    { length: 40 },
    (_, i) => `\u001b[32mok\u001b[0m test ${i} of run ${turn} took ${(i * turn) % 97} ms   `,
  ).join('\n');

const unlike = (turn: number): string =>
  Array.from({ length: 30 }, (_, i) => `line ${i} of the answer in turn ${turn}: value ${turn * 31 + i}`).join('\n');

interface Call {
  readonly name: string;
  readonly input: Json;
  readonly content: string;
}

function callsOf({ shows, from }: Turn, turn: number): readonly Call[] {
  const read = { name: 'read_file', input: { path: 'src/a.ts', offset: from }, content: fileLines(from) };
  if (shows === 'shell') return [{ name: 'bash', input: { command: `npm test ${turn}` }, content: shellOutput(turn) }];
  if (shows === 'unlike')
    return [{ name: 'web_fetch', input: { url: `https://a.example/${turn}` }, content: unlike(turn) }];
  return shows === 'twice' ? [read, { ...read, input: { path: 'src/b.ts' } }] : [read];
}

/** The messages of an agent after these turns, the last results still unanswered. */
export function messagesOf(turns: readonly Turn[]): Json[] {
  const messages: Json[] = [{ role: 'user', content: 'Fix the failing test in src/a.ts' }];
  for (const [i, turn] of turns.entries()) {
    const calls = callsOf(turn, i + 1).map((call, c) => ({ ...call, id: `toolu_${i + 1}_${c}` }));
    const uses = calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));
    messages.push({ role: 'assistant', content: [{ type: 'text', text: `Step ${i + 1}` }, ...uses] });
    messages.push({
      role: 'user',
      content: calls.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
    });
  }
  return messages;
}

export const bodyOf = (turns: readonly Turn[], more: Json = {}): Json => ({
  model: 'claude-sonnet-5',
  system: 'word '.repeat(100),
  tools: [{ name: 'read_file' }],
  messages: marked(messagesOf(turns)),
  ...more,
});

/** As many turns, of which every second one shows lines of the file that were shown before. */
export const someTurns = (count: number): Turn[] =>
  Array.from({ length: count }, (_, i) => ({ shows: i % 2 === 0 ? 'unlike' : 'file', from: 1 + 5 * i }));

export const isShaped = (content: unknown): boolean =>
  /\[shortened from \d+ chars|\[truncated: kept/.test(textOf(content));

export const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : String((content as Json[])[0]?.text ?? '');
