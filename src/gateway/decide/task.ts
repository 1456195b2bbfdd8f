import type { Segment } from '../../message.ts';
import { quote } from '../../text.ts';

/** The words of a user in one message. */
export interface Said {
  /** The first words of the user's own, otherwise any words. Empty if there are none. */
  readonly text: string;
  /** `set-up`: only a known set-up text of an agent. `tags`: only tagged blocks. */
  readonly kind: 'task' | 'set-up' | 'tags' | 'nothing';
}

/** Agents put set-up texts before the user's words: reminders, the environment, instructions of a project. */
export function readSaid(segments: readonly Segment[]): Said {
  const said = segments.filter(({ kind, text }) => kind === 'user' && /\S/.test(text));
  const [first] = said;
  if (!first) return NOTHING;
  const own = said.find(({ text }) => kindOf(text) === 'task');
  if (own) return { text: own.text, kind: 'task' };
  return { text: first.text, kind: said.some(({ text }) => kindOf(text) === 'set-up') ? 'set-up' : 'tags' };
}

const NOTHING: Said = { text: '', kind: 'nothing' };

function kindOf(text: string): Said['kind'] {
  const start = text.trimStart();
  if (SET_UPS.some((pattern) => pattern.test(start))) return 'set-up';
  if (isSummary(start)) return 'task';
  return start.startsWith('<') && isAllTagged(start) ? 'tags' : 'task';
}

/** Codex: the instructions of a project. Qwen Code, which makes the model answer it: the environment. */
const SET_UPS = [
  /^# AGENTS\.md instructions\b/,
  /^This is the [\w ]{1,40}\. We are setting up the context for our chat\./,
];

/** Whether an agent replaced the history before it by this text. The first 80 characters decide. */
export const isSummary = (text: string): boolean => SUMMARIES.some((pattern) => pattern.test(text));

/** The beginnings of agents' own summaries. Some models put their thoughts first. */
const SUMMARIES = [/^<(?:scratchpad|state_snapshot)>/, /^The conversation history before this point was compacted\b/];

/** Whether a text has only tagged blocks, such as `<system-reminder>…</system-reminder>`. */
function isAllTagged(text: string): boolean {
  let rest = text.trim();
  while (rest !== '') {
    const name = /^<([A-Za-z][\w-]*)[^<>]*>/.exec(rest)?.[1];
    const close = `</${name}>`;
    const end = name === undefined ? -1 : rest.indexOf(close);
    if (end < 0) return false;
    rest = rest.slice(end + close.length).trimStart();
  }
  return true;
}

/** The first line of a text, at most 80 characters. */
export const toTitle = (text: string): string => quote(text.trimStart().split('\n', 1)[0] ?? '', 80);

/** Finds the first message with a task, among messages that are added in order. */
export class TaskFinder {
  #title = '';
  #prefix = '';
  #isDone = false;
  #wasSetUp = false;

  /** False once a later message makes no difference. */
  get isLooking(): boolean {
    return !this.#isDone;
  }

  get title(): string {
    return this.#title;
  }

  /** The prefix of the message with the task. Empty if none was found. */
  get prefix(): string {
    return this.#prefix;
  }

  /**
   * A known set-up text may be answered before the task comes. After any other answer the search ends: a prompt that is all in tags is
   * the task itself, and a conversation must not get another name when the user continues.
   */
  add({ title, said, isReply }: TitledMessage, prefix: string): void {
    if (this.#isDone) return;
    if (isReply) this.#isDone = !this.#wasSetUp;
    if (said === 'nothing') return;
    this.#wasSetUp = said === 'set-up';
    if (this.#title === '' || said === 'task') this.#title = title;
    if (said !== 'task') return;
    this.#prefix = prefix;
    this.#isDone = true;
  }
}

/** A message as the search for the task sees it. */
export interface TitledMessage {
  readonly title: string;
  readonly said: Said['kind'];
  readonly isReply: boolean;
}
