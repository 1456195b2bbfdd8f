import type { Format, Segment } from '../../../message.ts';
import { isRecallName, recalledText, shownHandle } from '../../../plan/handles.ts';
import { handleOf } from '../../../store/handle.ts';
import type { TurnRecord } from '../../../store/store.ts';
import { type Shown, turnRecords } from '../../../store/turn-records.ts';
import { isTurnStore, TurnWriter } from '../../../store/turn-writer.ts';
import type { Conversation } from '../conversation/conversation.ts';
import type { HiddenStore } from './store-hidden.ts';

interface RecorderOptions<M> extends HiddenStore {
  readonly recordTurns: boolean;
  readonly format: Format<M>;
  readonly onProblem: (problem: Error) => void;
}

/**
 * Stores the turns of a session: recent turns whole, masked turns as the model sees them. The log also holds every turn whole.
 */
export class TurnRecorder<M> {
  readonly #options: RecorderOptions<M>;
  readonly #conversation: Conversation<M>;
  readonly #writer: TurnWriter | undefined;
  /** Turns that left memory and are not stored yet, by their number. */
  #waiting = new Map<number, TurnRecord>();

  constructor(options: RecorderOptions<M>, conversation: Conversation<M>) {
    const { store, id, recordTurns } = options;
    this.#options = options;
    this.#conversation = conversation;
    this.#writer = recordTurns && isTurnStore(store) ? new TurnWriter(store, id) : undefined;
  }

  /** Call this before turns leave memory. */
  keep(): void {
    if (!this.#writer) return;
    for (const record of this.#turns().records) this.#waiting.set(record.turn, record);
  }

  /** Stores new turns. If the store fails, `onProblem` is called and the session goes on. */
  async record(): Promise<void> {
    if (!this.#writer) return;
    const { records, leftOut } = this.#turns();
    for (const { turn } of records) this.#waiting.delete(turn);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    try {
      await this.#writer.write([...waiting, ...records], { leftOut });
    } catch (error) {
      this.#options.onProblem(error as Error);
    }
  }

  #turns(): { readonly records: TurnRecord[]; readonly leftOut: ReadonlySet<number> } {
    const { format, id } = this.#options;
    const { turns_before, turns } = this.#conversation.facts;
    const viewer = format.viewer();
    const segments: Segment[] = [];
    for (const message of this.#conversation.messages()) viewer.add(message, segments);
    // Whole turns may have left memory. Turn 0, before the first reply, never does.
    const gone = turns - viewer.turn;
    const numberOf = (turn: number): number => turns_before + (turn === 0 ? 0 : gone + turn);
    const { shown, leftOut } = this.#sent(segments);
    return {
      records: turnRecords(segments, { session: id, shown, numberOf }),
      leftOut: new Set([...leftOut].map(numberOf)),
    };
  }

  /** The results that are not sent whole, and the turns of messages that are not sent at all. */
  #sent(segments: readonly Segment[]): { shown: Map<number, Shown>; leftOut: Set<number> } {
    const messages = this.#conversation.messages();
    const sent = new Map(this.#conversation.view.items().map(({ key, message }) => [key, message]));
    const shown = new Map<number, Shown>();
    const leftOut = new Set<number>();
    for (let [index, inMessage] = [0, 0]; index < segments.length; index++) {
      const segment = segments[index] as Segment;
      inMessage = segments[index - 1]?.message === segment.message ? inMessage + 1 : 0;
      const message = messages[segment.message] as M;
      const other = sent.get(this.#conversation.keyAt(segment.message));
      if (other === undefined) leftOut.add(segment.turn);
      else if (other !== message && segment.kind === 'observation') {
        const text = this.#options.format.view([other])[inMessage]?.text;
        const original = this.#options.format.original(message, segment);
        if (text !== undefined && original !== undefined && text !== segment.text)
          shown.set(index, { text, handle: wholeHandle(segment, { text, original }) });
      }
    }
    return { shown, leftOut };
  }
}

/** The handle of the whole text of a result. For the answer of a recall, it is the handle in its placeholder. */
function wholeHandle({ tool = '' }: Segment, { text, original }: { text: string; original: string }): string {
  const recalled = recalledText(original, { handleOf });
  if (recalled !== undefined) return handleOf(recalled);
  return (isRecallName(tool) ? shownHandle(text) : undefined) ?? handleOf(original);
}
