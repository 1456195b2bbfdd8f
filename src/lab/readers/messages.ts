import { detectFormat, formatByName } from '../../formats/detect-format.ts';
import { asList, asString, isRecord } from '../../formats/lens.ts';
import type { Segment } from '../../message.ts';
import type { ReplyFacts } from '../run.ts';
import type { Fields } from './json-values.ts';
import { type LogReader, textOf, timeOf } from './log-reader.ts';
import { isShareGpt, shareGptContext } from './share-gpt.ts';
import { type SplitReply, splitBashBlocks, splitFunctions } from './text-actions.ts';
import { type Draft, Transcript } from './transcript.ts';
import { isUiMessage, uiContext } from './ui-messages.ts';
import { fieldsOf, usageOf } from './usage.ts';

/**
 * Message lists of the library's own formats, of ShareGPT and of the AI SDK's interface: an array, lines, or objects with a list of
 * messages.
 */
export const messages: LogReader = {
  format: 'messages',
  matches: (record) => listOf(bodyOf(record)) !== undefined || isMessage(record),
  async *read(records) {
    let run = 0;
    const loose: Fields[] = [];
    for await (const record of records) {
      const body = bodyOf(record);
      const list = listOf(body);
      if (list && isShareGpt(list)) yield* shareGptContext(list, run++, systemOf(body));
      else if (list && isUi(list)) yield* uiContext(asList(list), run++, systemOf(body));
      else if (list) yield* contextOf(list, { run: run++, system: systemOf(body), model: modelOf(body) });
      else if (isMessage(record)) loose.push(record);
    }
    yield* isUi(loose) ? uiContext(loose, run, '') : contextOf(loose, { run });
  },
};

/** A line of a batch has the request inside. */
function bodyOf(record: Fields): Fields {
  const { custom_id, body, params } = record;
  return typeof custom_id === 'string' && isRecord(body ?? params) ? ((body ?? params) as Fields) : record;
}

const LISTS = ['messages', 'input', 'contents', 'history', 'conversation', 'conversations', 'chatMessages'];

function listOf(record: Fields): readonly unknown[] | undefined {
  const lists = LISTS.map((key) => record[key]).filter((list): list is unknown[] => Array.isArray(list));
  return lists.find((list) => detectFormat(list) !== undefined || isShareGpt(list) || isUi(list));
}

const systemOf = ({ system, system_prompt, instructions }: Fields): string =>
  textOf(system ?? system_prompt ?? instructions);

/** The model of a request body, or of a run. */
export const modelOf = ({ model, model_name }: Fields): string | undefined => asString(model) ?? asString(model_name);

const isMessage = (record: Fields): boolean => detectFormat([record]) !== undefined || isUiMessage(record);

const isUi = (list: readonly unknown[]): boolean => list.length > 0 && asList(list).every(isUiMessage);

/** The context of a list of messages. None if it has no reply. */
export function contextOf(
  list: readonly unknown[],
  { run = 0, system = '', model }: { run?: number; system?: string; model?: string | undefined } = {},
): Draft[] {
  const transcript = new Transcript(run);
  transcript.say('system', system);
  const format = detectFormat(list);
  if (format) addSegments(transcript, list, { model, segments: formatByName(format).view(list) });
  return transcript.cut();
}

interface ViewedList {
  readonly model: string | undefined;
  readonly segments: readonly Segment[];
}

function addSegments(transcript: Transcript, list: readonly unknown[], { model, segments }: ViewedList): void {
  const split = textActions(segments);
  let expectsResult = false;
  for (const { kind, turn, text, message, callId, tool } of segments) {
    const time = messageTime(list[message]);
    const key = `turn ${turn}`;
    const facts = factsOf(list[message], model);
    if (kind === 'system') transcript.say('system', text, time);
    else if (kind === 'observation') transcript.answer({ callId, name: tool, text, time });
    else if (kind === 'action')
      transcript.reply({ key, calls: [{ id: callId, name: tool, arguments: text }], time, ...facts });
    else if (kind === 'reasoning') {
      const reply = split?.(text) ?? { text, calls: [] };
      transcript.reply({ key, ...reply, time, ...facts });
      expectsResult = reply.calls.length > 0;
    } else if (expectsResult) {
      transcript.answer({ callId: transcript.nextCall, text, time });
      expectsResult = false;
    } else transcript.say('user', text, time);
  }
}

/** Next to the message, or in the provider's answer that it was taken from. */
export function factsOf(message: unknown, model: string | undefined): ReplyFacts {
  const { extra, ...own } = fieldsOf(message);
  const response = fieldsOf(fieldsOf(extra).response);
  return { model: modelOf(own) ?? modelOf(response) ?? model, usage: usageOf(own.usage ?? response.usage) };
}

/** The way in which replies write their actions as text, if they do. */
function textActions(segments: readonly Segment[]): ((text: string) => SplitReply) | undefined {
  if (segments.some(({ kind }) => kind === 'action' || kind === 'observation')) return undefined;
  const isUsed = (split: (text: string) => SplitReply): boolean =>
    segments.some(({ kind, text }) => kind === 'reasoning' && split(text).calls.length > 0);
  if (isUsed(splitFunctions)) return splitFunctions;
  const looksRun = segments.some(({ kind, text }) => kind === 'user' && /^(?:<returncode>|observation:)/i.test(text));
  return looksRun && isUsed(splitBashBlocks) ? splitBashBlocks : undefined;
}

function messageTime(message: unknown): number | undefined {
  const { timestamp, ts, created_at, created, extra } = (message ?? {}) as Fields;
  return timeOf(timestamp ?? ts ?? created_at ?? created ?? (extra as Fields | null | undefined)?.timestamp);
}
