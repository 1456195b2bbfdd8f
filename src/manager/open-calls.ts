import { PalimpsestError } from '../errors.ts';
import { OpenCalls } from '../formats/calls.ts';
import type { Format, Segment } from '../message.ts';
import { readCall } from './agent/model.ts';
import type { MessageWriter } from './message-writer.ts';
import type { ToolCall, ToolResult } from './tool-call.ts';

/** The calls of a conversation that got no result yet. */
export function openCallsOf<M>(format: Format<M>, messages: readonly M[]): ToolCall[] {
  return openIn(format.view(messages)).map(({ call }) => call);
}

interface OpenCall {
  readonly call: ToolCall;
  readonly message: number;
}

function openIn(segments: readonly Segment[]): OpenCall[] {
  const open = new OpenCalls<OpenCall>();
  for (const { kind, callId, tool, text, message } of segments) {
    if (callId === undefined) continue;
    if (kind === 'action')
      open.made(callId, { call: readCall({ id: callId, name: tool ?? 'tool', arguments: text }), message });
    else if (kind === 'observation') open.answered(callId);
  }
  return open.all();
}

/** Results of one reply, and the message before which they belong; its index is the length of the list at the end. */
interface PlacedResults<M> {
  readonly before: number;
  readonly messages: readonly M[];
}

/**
 * Puts results right after the reply that made the calls: providers look for them only there. Throws for a second result of a
 * call: providers refuse it.
 */
export function placeResults<M>(
  writer: MessageWriter<M>,
  messages: readonly M[],
  results: readonly ToolResult[],
): PlacedResults<M>[] {
  const segments = writer.format.view(messages);
  const open = openIn(segments);
  const places = new Map<number, ToolResult[]>();
  for (const result of results) {
    const at = open.findIndex(({ call }) => call.id === result.call.id);
    if (at < 0 && isMade(segments, result.call.id)) throw alreadyAnswered(result.call);
    const [asked] = at < 0 ? [] : open.splice(at, 1);
    const before = asked ? endOfReply(segments, asked.message) : messages.length;
    places.set(before, [...(places.get(before) ?? []), result]);
  }
  return [...places].map(([before, own]) => ({ before, messages: writer.results(own) }));
}

const isMade = (segments: readonly Segment[], id: string): boolean =>
  segments.some(({ kind, callId }) => kind === 'action' && callId === id);

const alreadyAnswered = ({ id, name }: ToolCall): PalimpsestError =>
  new PalimpsestError(
    'BAD_INPUT',
    `Expected a result for a call that is open but found one for ${name} (${id}), which has a result; answer each call once`,
  );

/** The message after the reply and the results that it already has. */
function endOfReply(segments: readonly Segment[], message: number): number {
  const turn = segments.find((segment) => segment.message === message)?.turn;
  const own = segments.filter((segment) => segment.turn === turn && PAIR.has(segment.kind));
  const indexes = new Set(own.map((segment) => segment.message));
  let end = message + 1;
  while (indexes.has(end)) end += 1;
  return end;
}

const PAIR: ReadonlySet<Segment['kind']> = new Set(['reasoning', 'action', 'observation']);

/** Results for calls that will not be executed. None if the provider executes one of them itself. */
export function resultsForOpen<M>(
  writer: MessageWriter<M>,
  messages: readonly M[],
  resultOf: (call: ToolCall) => ToolResult,
): readonly ToolResult[] {
  const { format } = writer;
  const results = openCallsOf(format, messages).map(resultOf);
  if (results.length === 0) return [];
  const answered = withResults(messages, placeResults(writer, messages, results));
  return format.check(answered).length > format.check(messages).length ? [] : results;
}

function withResults<M>(messages: readonly M[], placed: readonly PlacedResults<M>[]): M[] {
  const before = (index: number): readonly M[] => placed.find((one) => one.before === index)?.messages ?? [];
  return [...messages.flatMap((message, i) => [...before(i), message]), ...before(messages.length)];
}

/** The result of a call that a restart left open. */
export const skippedByRestart = (call: ToolCall): ToolResult => ({
  call,
  text: 'Skipped: the session was restarted',
  isError: true,
});
