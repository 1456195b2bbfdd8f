import { isPlaceholder } from '../laws/idempotent.ts';
import type { Segment } from '../message.ts';
import type { Handle, TurnRecord } from './store.ts';

/** The text that is sent in place of a result, and the handle of the result. */
export interface Shown {
  readonly text: string;
  readonly handle: Handle;
}

export interface TurnsOptions {
  readonly session: string;
  /** The results that are not sent whole, by the index of their segment. */
  readonly shown: ReadonlyMap<number, Shown>;
  /** The number under which a turn is stored, for lists that do not begin with the first turn. */
  readonly numberOf?: (turn: number) => number;
}

/** The complete turns of a conversation as records. A turn that waits for a result is left out. */
export function turnRecords(segments: readonly Segment[], options: TurnsOptions): TurnRecord[] {
  const { session, numberOf = (turn) => turn } = options;
  const records: TurnRecord[] = [];
  for (const [turn, parts] of partsOf(segments, options.shown)) {
    if (parts.openCalls.size > 0) continue;
    records.push({
      session,
      turn: numberOf(turn),
      reasoning: joined(parts.reasoning),
      action: joined(parts.action),
      observation: joined(parts.observation),
      ...(parts.user.length > 0 ? { user: joined(parts.user) } : {}),
      ...(parts.tools.size > 0 ? { tools: [...parts.tools] } : {}),
      masked: parts.results.length > 0,
      ...(parts.results.length > 0 ? { results: parts.results } : {}),
    });
  }
  return records;
}

/** A single text is not copied. */
const joined = (texts: readonly string[]): string => (texts.length === 1 ? (texts[0] as string) : texts.join('\n'));

interface Parts {
  readonly reasoning: string[];
  readonly action: string[];
  readonly observation: string[];
  readonly user: string[];
  readonly tools: Set<string>;
  readonly openCalls: Set<string>;
  readonly results: { callId: string; tool: string; handle: Handle }[];
}

function partsOf(segments: readonly Segment[], shown: TurnsOptions['shown']): Map<number, Parts> {
  const turns = new Map<number, Parts>();
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === 'system') continue;
    const parts = turns.get(segment.turn) ?? emptyParts();
    turns.set(segment.turn, parts);
    if (segment.kind === 'observation') addResult(parts, segment, shown.get(index) ?? shownBefore(segment));
    else parts[segment.kind].push(segment.kind === 'action' ? callOf(segment, shown.get(index)) : segment.text);
    if (segment.tool !== undefined && segment.kind !== 'user') parts.tools.add(segment.tool);
    if (segment.kind === 'action' && segment.callId !== undefined) parts.openCalls.add(segment.callId);
  }
  // If the agent continued, results that are still missing will never come.
  const last = Math.max(...turns.keys());
  for (const [turn, { openCalls }] of turns) if (turn < last) openCalls.clear();
  return turns;
}

const emptyParts = (): Parts => ({
  reasoning: [],
  action: [],
  observation: [],
  user: [],
  tools: new Set(),
  openCalls: new Set(),
  results: [],
});

/** A call as it is sent. It identifies a turn when the history is read back. */
const callOf = ({ tool, text }: Segment, { text: sent } = { text }): string =>
  tool === undefined ? sent : `${tool} ${sent}`;

function addResult(parts: Parts, { text, callId, tool }: Segment, shown: Shown | undefined): void {
  parts.observation.push(shown?.text ?? text);
  if (callId !== undefined) parts.openCalls.delete(callId);
  if (shown) parts.results.push({ callId: callId ?? '', tool: tool ?? '', handle: shown.handle });
}

/** A placeholder that a framework carried forward from an earlier request. */
function shownBefore({ text }: Segment): Shown | undefined {
  const handle = isPlaceholder(text) ? HANDLE.exec(text)?.[1] : undefined;
  return handle === undefined ? undefined : { text, handle };
}

const HANDLE = / · (?:recall )?(p_[a-z2-7]{26})\]?$/m;
