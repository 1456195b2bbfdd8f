import type { ScriptedCall, ScriptedImage, ScriptedReply, ScriptedTool } from './adapter-driver.ts';
import { PNG } from './png.ts';

/** The job of the suite: a number of turns with tool calls, with results that name their conversation. */
export interface Job {
  readonly tools: readonly ScriptedTool[];
  /** The reply of a turn; turns count from 0. */
  reply(turn: number): ScriptedReply;
}

export function createJob(name: string): Job {
  const tool = (toolName: string, execute: (path: string) => string | ScriptedImage): ScriptedTool => ({
    name: toolName,
    description: `The tool ${toolName} of a test.`,
    parameters: {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    },
    execute: ({ path }) => execute(path),
  });
  return {
    tools: [
      tool('read', (path) => fileText(name, path)),
      tool('show', () => ({ mediaType: 'image/png', data: PNG })),
      tool('test', (path) => {
        throw new Error(failureText(name, path));
      }),
      tool('stat', (path) => {
        throw new Error(`No file ${path}.`);
      }),
    ],
    reply: (turn) => ({
      text: `Step ${turn}.`,
      ...(turn % 5 === 0 ? { reasoning: { text: `Why step ${turn} is next.`, signature: `signed-${turn}` } } : {}),
      calls: callsOf(turn),
    }),
  };
}

/** The whole result of `read`. */
export const fileText = (name: string, path: string): string => lines(`${name} ${path} holds line`);

/** The message of the error that `test` throws. */
export const failureText = (name: string, path: string): string => `It failed.\n${lines(`${name} ${path} failed at`)}`;

const lines = (text: string): string => Array.from({ length: 40 }, (_, i) => `${text} ${i} of forty`).join('\n');

/** Most turns read a file, some two; others look at an image, or fail with a long or a short message. */
function callsOf(turn: number): ScriptedCall[] {
  const call = (tool: string, part = 'a'): ScriptedCall => ({
    id: `call_${turn}_${part}`,
    tool,
    input: { path: `src/${tool}-${turn}${part}.ts` },
  });
  if (turn % 10 === 3) return [call('test')];
  if (turn % 10 === 6) return [call('stat')];
  if (turn % 10 === 8) return [call('show')];
  return turn % 10 === 5 ? [call('read', 'a'), call('read', 'b')] : [call('read')];
}
