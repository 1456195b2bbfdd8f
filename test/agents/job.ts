import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Fields, fieldsOf } from '../support/provider/json.ts';
import type { Ask, Call, Reply, Script } from '../support/provider/script.ts';
import type { Agent } from './agents.ts';

export const TASK = 'Read all parts and all logs of this project, one after the other, and say when you are done.';

/** Tool calls of the job, without those that look for `recall` and use it. */
export const JOB_CALLS = 80;
export const LAST_TEXT = `The job is done after ${JOB_CALLS} calls.`;

/** What the model says before it recalls. */
export const RECALL_TEXT = 'Step recall.';
const RECALL_AFTER = 60;

/** The project that the agent works in: sources to read and logs to print, 2,500 to 4,500 characters each. */
export function writeProject(folder: string): void {
  for (const name of ['src', 'logs']) mkdirSync(join(folder, name), { recursive: true });
  for (let part = 0; part < JOB_CALLS; part++) {
    writeFileSync(join(folder, `src/part-${part}.ts`), linesOf(part, 'export const'));
    writeFileSync(join(folder, `logs/part-${part}.log`), linesOf(part, 'info'));
  }
}

function linesOf(part: number, word: string): string {
  const line = (at: number): string => `${word} part${part}_line${at} = ${(part * 7919 + at * 104_729) % 1_000_003};`;
  return `${Array.from({ length: 70 + (part % 5) * 10 }, (_, at) => line(at)).join('\n')}\n`;
}

export interface JobOptions {
  /** The project's folder. */
  readonly work: string;
  /** Called once, in the middle of a request, before it is answered. */
  interrupt?(): Promise<void>;
  /** Called before the handle of a placeholder is recalled. */
  recalls?(handle: string): Promise<void>;
}

/** What the model does: reads and prints; where the agent takes MCP servers it recalls a text that it finds masked. */
export function jobScript(agent: Agent, options: JobOptions): Script {
  const steps = stepsOf(agent, options);
  let hasInterrupted = false;
  return async (ask) => {
    if (!isOfJob(agent, ask)) return { text: 'Reading parts and logs' };
    if (ask.turn === JOB_CALLS / 2 && !hasInterrupted) {
      hasInterrupted = true;
      await options.interrupt?.();
    }
    const reply = await steps[ask.turn]?.(ask);
    return reply ?? { text: LAST_TEXT };
  };
}

/** An agent also asks for titles and the like, without its tools. */
export const isOfJob = ({ shell }: Agent, { body }: Pick<Ask, 'body'>): boolean =>
  JSON.stringify([body.tools, fieldsOf(body.input).map(({ tools }) => tools)]).includes(`"${shell('').name}"`);

type Step = (ask: Ask) => Reply | Promise<Reply>;

function stepsOf({ mcp, ...agent }: Agent, { recalls, work }: JobOptions): Step[] {
  const steps: Step[] = Array.from({ length: JOB_CALLS }, (_, part) => () => said(part, workOn(agent, work, part)));
  if (!mcp) return steps;
  const { lookUp } = mcp;
  const recall: Step = async ({ body }) => {
    const handle = handleIn(body);
    if (handle) await recalls?.(handle);
    return said('recall', mcp.recall(handle));
  };
  return steps.toSpliced(RECALL_AFTER, 0, ...(lookUp ? [() => said('look-up', lookUp)] : []), recall);
}

const said = (step: number | string, call: Call): Reply => ({
  thinking: `Step ${step} is next. Nothing speaks against it.`,
  text: `Step ${step}.`,
  calls: [call],
});

const workOn = ({ read, shell }: Agent, work: string, part: number): Call =>
  read && part % 2 === 0 ? read(join(work, `src/part-${part}.ts`)) : shell(`cat logs/part-${part}.log`);

/** In the instructions of the MCP server. */
const EXAMPLE = 'p_3kf2q2m7abcdefghijklmnopqr';

/** The handle in the last placeholder; empty if there is none. */
function handleIn(body: Fields): string {
  const messages = JSON.stringify(body.messages ?? body.input ?? body.contents);
  const found = messages.matchAll(/ masked · (?:recall )?(p_[a-z2-7]{26})\]/g);
  return Array.from(found, ([, handle = '']) => handle).findLast((handle) => handle !== EXAMPLE) ?? '';
}
