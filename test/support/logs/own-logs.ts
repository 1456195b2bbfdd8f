import { prose } from '../chat.ts';
import { type Fields, lines } from './sample-log.ts';

/** A session whose truth is known. */
export interface OwnLog {
  readonly turns: number;
  readonly model: string;
  /** Tokens that the log lacks: system prompt and tools. */
  readonly hiddenTokens: number;
  /** The tokens of the provider for each four characters. */
  readonly scale: number;
  /** When the first message was sent, in milliseconds since 1970. */
  readonly start: number;
  /** The time from the reply before a turn to that of the turn, nearly all of it spent in the tool. */
  readonly pauseMs?: (turn: number) => number;
}

/** What each turn adds: a reply of 50 tokens with its call, and a result that is small or large. */
const resultChars = (turn: number): number => (turn % 3 === 0 ? 400 : 4 * (1500 + 100 * (turn % 7)));

/** The characters of each request, and the time of each turn. */
function* turnsOf({ turns, start, pauseMs = () => 5000 }: OwnLog, reply: number, head: number) {
  let [chars, time] = [head, start];
  for (let turn = 0; turn < turns; turn++) {
    time += pauseMs(turn);
    yield { turn, chars, time, answered: time + pauseMs(turn + 1) - 1000 };
    chars += reply + resultChars(turn);
  }
}

const iso = (time: number): string => new Date(time).toISOString();

/** A text that no other turn has: results that repeat would be masked as copies. */
const uniqueProse = (chars: number, start: string): string => (start + prose(chars)).slice(0, chars);

/** A session of Claude Code: each reply on two lines, both with its usage. */
export function claudeSession(log: OwnLog): string {
  const { model, hiddenTokens, scale, start } = log;
  const task = prose(2000);
  const says = prose(180);
  // The text of a reply, the name of its tool and `{"n":"…"}`.
  const reply = says.length + 4 + 20;
  const records: Fields[] = [];
  let cached = 0;
  const line = (type: string, time: number, message: Fields): Fields => ({
    type,
    uuid: `u${records.length}`,
    sessionId: 's',
    isSidechain: false,
    timestamp: iso(time),
    message: { role: type, ...message },
  });
  records.push(line('user', start, { content: task }));
  for (const { turn, chars, time, answered } of turnsOf(log, reply, task.length)) {
    const prompt = Math.round(hiddenTokens + (scale * chars) / 4);
    const usage = {
      input_tokens: 2,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: prompt - cached - 2,
      output_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: prompt - cached - 2, ephemeral_1h_input_tokens: 0 },
    };
    cached = prompt;
    const id = `m${turn}`;
    const call = { type: 'tool_use', id: `t${turn}`, name: 'Bash', input: { n: String(turn).padEnd(12, 'x') } };
    const part = (block: Fields): Fields => line('assistant', time, { id, model, content: [block], usage });
    const content = uniqueProse(resultChars(turn), `Result ${turn}. `);
    records.push(part({ type: 'text', text: says }));
    records.push(part(call));
    records.push(line('user', answered, { content: [{ type: 'tool_result', tool_use_id: call.id, content }] }));
  }
  return lines(...records);
}

/** A session of Codex: the usage follows the items of the reply. */
export function codexSession(log: OwnLog): string {
  const { model, hiddenTokens, scale, start } = log;
  const task = prose(2000);
  const record = (type: string, time: number, payload: Fields): Fields => ({ timestamp: iso(time), type, payload });
  const records: Fields[] = [
    record('session_meta', start, { id: 'x' }),
    record('turn_context', start, { model }),
    record('response_item', start, { type: 'message', role: 'user', content: [{ type: 'input_text', text: task }] }),
  ];
  let [cached, total] = [0, 0];
  for (const { turn, chars, time, answered } of turnsOf(log, 5 + 20, task.length)) {
    const prompt = Math.round(hiddenTokens + (scale * chars) / 4);
    total += prompt;
    const args = JSON.stringify({ n: String(turn).padEnd(12, 'x') });
    records.push(
      record('response_item', time, { type: 'function_call', call_id: `c${turn}`, name: 'shell', arguments: args }),
      record('event_msg', time, {
        type: 'token_count',
        info: {
          total_token_usage: { total_tokens: total },
          last_token_usage: { input_tokens: prompt, cached_input_tokens: cached, output_tokens: 60 },
        },
      }),
      record('response_item', answered, {
        type: 'function_call_output',
        call_id: `c${turn}`,
        output: uniqueProse(resultChars(turn), `Result ${turn}. `),
      }),
    );
    cached = prompt;
  }
  return lines(...records);
}
