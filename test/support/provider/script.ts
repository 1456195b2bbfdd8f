import { createHash } from 'node:crypto';
import type { Fields } from './json.ts';
import type { Api } from './route.ts';

/** A call of a tool, as the model makes it. */
export interface Call {
  /** Made from what was said if not given. */
  readonly id?: string;
  readonly name: string;
  readonly input: Fields;
}

/** What the model says: thinking, then text, then calls in parallel. */
export interface Reply {
  /** Ids of items are made from it. From the task and the turn if not given, which are not unique where turns were dropped. */
  readonly id?: string;
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly Call[];
}

/** What the model was asked. */
export interface Ask {
  readonly api: Api;
  readonly model: string;
  /** How many replies the history holds: 0 for the first request of a conversation. */
  readonly turn: number;
  /** The first words of the user: they tell conversations apart. */
  readonly task: string;
  readonly body: Fields;
}

/** Replies by turn, so that a retry or a fork gets the same; or whatever a function makes of the request. */
export type Script = readonly Reply[] | ((ask: Ask) => Reply | Promise<Reply>);

/** The scripted reply. A list that has come to its end says so. */
export async function replyTo(script: Script, ask: Ask): Promise<Reply> {
  return typeof script === 'function' ? await script(ask) : (script[ask.turn] ?? { text: 'Done.' });
}

/** An id that depends on what was said, never on chance: the same conversation gets the same ids in every run. */
export function idOf(prefix: string, ask: Pick<Ask, 'task' | 'turn'>, index: number | string = 0): string {
  const hash = createHash('sha256').update(`${ask.task}\0${ask.turn}\0${index}`).digest('hex');
  return `${prefix}${hash.slice(0, 24)}`;
}
