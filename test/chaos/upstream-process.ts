import { appendFileSync } from 'node:fs';
import { jobScript } from '../support/gateway/clients/job.ts';
import type { Fault } from '../support/provider/faults.ts';
import { type Fields, fieldsOf } from '../support/provider/json.ts';
import type { Ask } from '../support/provider/script.ts';
import { startProvider } from '../support/provider/start-provider.ts';
import { createRandom, type Random } from './random.ts';

/** A line of the file in which the upstream writes down what it saw. */
export type Saw =
  | { readonly kind: 'placeholder'; readonly call: string; readonly text: string }
  | { readonly kind: 'refused'; readonly text: string };

/** The header by which the upstream knows honest requests. */
export const HONEST = 'x-chaos-honest';

/** Turns of a conversation, and calls in every third of its replies. */
export const JOB = { turns: 40, parallel: 2 };

/** The strict provider of the tests as a process of its own: `upstream PORT FILE SEED FAULTS`. */
export async function run([, port = '0', file = '', seed = '1', hasFaults = '']: readonly string[]): Promise<number> {
  const random = createRandom(Number(seed));
  const seen = new Set<string>();
  const write = (saw: Saw): void => appendFileSync(file, `${JSON.stringify(saw)}\n`);
  const script = jobScript(JOB);
  const provider = await startProvider({
    port: Number(port),
    keepsBytes: false,
    faults: hasFaults ? () => faultFrom(random) : [],
    script: (ask) => {
      // Written before the answer is sent: what was shown to an accepted request is on the disk.
      for (const [call, text] of resultsIn(ask)) {
        if (!isPlaceholder(text) || seen.has(call + text)) continue;
        seen.add(call + text);
        write({ kind: 'placeholder', call, text });
      }
      return typeof script === 'function' ? script(ask) : (script[ask.turn] ?? {});
    },
  });
  let looked = 0;
  setInterval(() => {
    for (; looked < provider.requests.length && provider.requests[looked]?.status; looked++) {
      const { headers, status, refused } = provider.requests[looked] as (typeof provider.requests)[number];
      const isRefusal = status === 400 || status === 413 || status === 422;
      if (headers[HONEST] && isRefusal) write({ kind: 'refused', text: `${status}: ${refused}` });
    }
  }, 100);
  process.stdout.write('ready\n');
  await new Promise<void>((resolve) => process.once('SIGTERM', resolve));
  process.exit(0);
}

const isPlaceholder = (text: string): boolean => text.length < 400 && /\bp_\w{16,}/.test(text);

/** The id of each call, and what the request says that it answered. */
function resultsIn({ api, body }: Ask): [string, string][] {
  return fieldsOf(body.messages).flatMap((message) => {
    if (api === 'openai-chat')
      return message.role === 'tool' ? [[textOf(message.tool_call_id), textOf(message.content)]] : [];
    return fieldsOf(message.content)
      .filter(({ type }) => type === 'tool_result')
      .map((block): [string, string] => [textOf(block.tool_use_id), textOf(block.content)]);
  });
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return fieldsOf(value)
    .map((part: Fields) => textOf(part.text))
    .join('');
}

/** One request in twenty meets one. */
function faultFrom(random: Random): Fault | undefined {
  if (random.next() > 0.05) return undefined;
  return random.pick<Fault>([
    { kind: 'reset', when: 'before-headers' },
    { kind: 'reset', when: 'after-headers' },
    { kind: 'half-stream' },
    { kind: 'slow-headers', delayMs: 2000 },
    { kind: 'slow-stream', delayMs: 30 },
    { kind: 'status', status: 429, retryAfterSeconds: 0 },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 529 },
  ]);
}
