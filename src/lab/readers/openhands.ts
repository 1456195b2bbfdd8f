import { asList, asString, isRecord, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { joinTexts, type Session, sessionReader, textOf, timeOf } from './log-reader.ts';
import { addSdkEvent, isSdkEvent } from './openhands-sdk.ts';
import { type Call, type Draft, Transcript } from './transcript.ts';
import { openaiUsage } from './usage.ts';

/** Event histories of OpenHands and of its SDK: runs with a history each, or a list of events. The first resolver wrote flat ones. */
export const openhands = sessionReader({
  format: 'openhands',
  matches: (record) => historyOf(record) !== undefined || isLoose(record),
  begin: (run) => new History(run),
  partsOf: historyOf,
});

/** Before OpenHands had its name, actions and observations were pairs. */
function historyOf({ history }: Fields): readonly Fields[] | undefined {
  const events = asList(Array.isArray(history) ? history.flat() : history);
  return events.some(isEvent) ? events : undefined;
}

const isEvent = (record: Fields): boolean => isOwnEvent(record) || isSdkEvent(record);

const isOwnEvent = ({ action, observation, role }: Fields): boolean =>
  role === undefined && (typeof action === 'string' || typeof observation === 'string');

const isLoose = (record: Fields): boolean =>
  isSdkEvent(record) ||
  (isOwnEvent(record) && typeof record.source === 'string' && (isRecord(record.args) || isRecord(record.extras)));

class History implements Session {
  readonly #transcript: Transcript;
  /** The events that are sent. A condensation removes some of them. */
  #events: Fields[] = [];

  constructor(run: number) {
    this.#transcript = new Transcript(run);
  }

  *add(event: Fields): Generator<Draft> {
    if (event.action === 'condensation') yield* this.#condense(event);
    else if (event.kind === 'Condensation') yield* this.#condense({ args: event, timestamp: event.timestamp });
    else if (isEvent(event)) this.#put(event);
  }

  /** The SDK stores one event in each file: alone, it is no run. */
  end(): Draft[] {
    const [first, second] = this.#events;
    return first && !second && isSdkEvent(first) ? [] : this.#transcript.cut();
  }

  *#condense(condensation: Fields): Generator<Draft> {
    yield* this.end();
    const kept = condense(this.#events, condensation);
    this.#events = [];
    for (const event of kept) this.#put(event);
    this.#transcript.markCarried();
  }

  #put(event: Fields): void {
    this.#events.push(event);
    if (isSdkEvent(event)) addSdkEvent(this.#transcript, event);
    else addEvent(this.#transcript, event);
  }
}

/** The events that are still sent, with the summary in its place. */
function condense(events: readonly Fields[], { args, timestamp }: Fields): Fields[] {
  const { summary, summary_offset, ...forgotten } = (args ?? {}) as Fields;
  const kept = events.filter(({ id }) => !isForgotten(id, forgotten));
  const note = { source: 'user', action: 'message', args: { content: summary }, timestamp };
  if (typeof summary === 'string') kept.splice(Number(summary_offset ?? kept.length), 0, note);
  return kept;
}

/** The ids are listed one by one, or as a range. */
function isForgotten(id: unknown, forgotten: Fields): boolean {
  const ids = forgotten.forgotten_event_ids;
  if (Array.isArray(ids)) return ids.includes(id);
  const [start, end] = [forgotten.forgotten_events_start_id, forgotten.forgotten_events_end_id].map(Number);
  return Number(id) >= Number(start) && Number(id) <= Number(end);
}

function addEvent(transcript: Transcript, event: Fields): void {
  const time = timeOf(event.timestamp);
  if (SILENT.has(String(event.action ?? event.observation))) return;
  if (typeof event.observation === 'string') addObservation(transcript, event, time);
  else if (event.action === 'system') transcript.say('system', systemText(event), time);
  else if (isFromUser(event, transcript)) transcript.say('user', contentOf(event), time);
  else addAction(transcript, event, time);
}

/** Events of the program itself. The log does not have the text of a recall. */
const SILENT = new Set([
  'recall',
  'change_agent_state',
  'agent_state_changed',
  'condensation_request',
  'null',
  'pause',
  'resume',
  'stop',
]);

/** The tools are part of the prompt, and this log has them. */
const systemText = (event: Fields): string =>
  joinTexts([contentOf(event), toText((event.args as Fields | undefined)?.tools)]);

/** Events of the oldest logs have no source: there, the first message is the task. */
const isFromUser = ({ source, action }: Fields, transcript: Transcript): boolean =>
  source === undefined ? action === 'message' && transcript.isEmpty : source !== 'agent';

/** Fields are in `args`. In the oldest logs they are next to the action. */
const contentOf = (event: Fields): string => textOf(((event.args ?? event) as Fields).content);

function addObservation(transcript: Transcript, event: Fields, time: number | undefined): void {
  const { tool_call_id, function_name } = (event.tool_call_metadata ?? {}) as Fields;
  const callId = asString(tool_call_id) ?? (event.cause === undefined ? undefined : eventKey(event.cause));
  const isOld = event.source === undefined;
  const text = textOf(event.content);
  transcript.answer({ callId: isOld ? transcript.nextCall : callId, name: asString(function_name), text, time });
}

const eventKey = (id: unknown): string => `event ${id}`;

/** Several actions may come from one reply: its text counts once. */
function addAction(transcript: Transcript, event: Fields, time: number | undefined): void {
  const response = ((event.tool_call_metadata as Fields | undefined)?.model_response ?? {}) as Fields;
  const message = (asList(response.choices)[0]?.message ?? {}) as Fields;
  const key = asString(response.id) ?? (event.id === undefined ? undefined : eventKey(event.id));
  const { thought } = (event.args ?? event) as Fields;
  const isMessage = event.action === 'message';
  // A thought is the text of the reply, but for the tool `think` it is the argument: the reply itself is more reliable.
  const said = isMessage ? contentOf(event) : textOf(response.choices ? message.content : thought);
  const text = key !== undefined && transcript.hasReply(key) ? '' : said;
  const facts = { model: asString(response.model), usage: openaiUsage(response.usage) };
  transcript.reply({ key, text, calls: isMessage ? [] : [callOf(event, message)], time, ...facts });
}

function callOf(event: Fields, message: Fields): Call {
  const { tool_call_id, function_name } = (event.tool_call_metadata ?? {}) as Fields;
  const made = asList(message.tool_calls).find(({ id }) => id === tool_call_id);
  const args = made ? (made.function as Fields | undefined)?.arguments : ownArguments((event.args ?? event) as Fields);
  const id = asString(tool_call_id) ?? (event.id === undefined ? undefined : eventKey(event.id));
  return { id, name: asString(function_name) ?? toText(event.action), arguments: toText(args) };
}

/** Fields that the program adds to an action. */
const ADDED = [
  'action',
  'thought',
  'is_confirmed',
  'confirmation_state',
  'action_risk',
  'security_risk',
  'keep_prompt',
  'kernel_init_code',
];

const ownArguments = (args: Fields): Fields =>
  Object.fromEntries(Object.entries(args).filter(([key]) => !ADDED.includes(key)));
