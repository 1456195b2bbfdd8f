import { PalimpsestError } from '../../../errors.ts';
import type { ConversationState } from '../conversation/conversation.ts';
import { type Recovered, Replay } from '../log/replay.ts';
import { loadSnapshot, type SnapshotEvents, seqOfKey } from '../log/restore-snapshot.ts';
import { readSnapshotText, type Snapshot } from '../log/snapshot.ts';
import type { SessionInfo } from '../session-info.ts';
import type { RecoverOptions } from '../session-storage.ts';
import { type EventRow, rowsAfter, rowsOf } from './read-rows.ts';
import type { SessionRows } from './session-rows.ts';

/** The row of a session that was opened for writing. */
export interface OpenedRow {
  readonly info: SessionInfo;
  /** The number of this writer. Every writer gets a new one. */
  readonly writer: string;
  /** The sequence number of the last compaction's checkpoint; 0 for none. */
  readonly checkpointSeq: number;
  readonly logBytes: number;
  readonly snapshot: string | undefined;
}

/** Brings a conversation to the end of its events: from a sound snapshot, else from the events alone. */
export async function recoverRows<M>(
  rows: SessionRows,
  { info, checkpointSeq, logBytes, snapshot: saved }: OpenedRow,
  { conversation, between }: RecoverOptions<M>,
): Promise<Recovered> {
  const { id, events: lastSeq, lastActive: lastTime } = info;
  const { snapshot, damage, problem } = await loadSnapshot<M>(conversation, {
    name: 'the snapshot',
    read: () => (saved === undefined ? undefined : readSnapshotText<M>(saved)),
    eventsOf: (snapshot) => eventsOf(rows, id, snapshot),
  });
  const replay = new Replay<M>({ conversation, snapshot, damage });
  const start = snapshot ? { seq: snapshot.seq, rows: [] } : await startOf<M>(rows, id, checkpointSeq);
  for (const row of start.rows) take(replay, row);
  let count = 0;
  for await (const row of rowsAfter<M>(rows, id, start.seq)) {
    take(replay, row);
    if (++count % ROWS_BETWEEN === 0) await between();
  }
  replay.finish();
  if (lastSeq > 0 && replay.events === 0 && !snapshot) throw noEvents(id);
  replay.damage.miss(replay.end.seq + 1, lastSeq + 1);
  replay.end = { position: logBytes, seq: lastSeq, time: lastTime };
  return replay.result({ problem });
}

const ROWS_BETWEEN = 100;

function take<M>(replay: Replay<M>, { event, place }: EventRow<M>): void {
  if (event) replay.accept({ event, place });
  else replay.takeDamage(place);
}

interface Start<M> {
  /** Events after this one are read after `rows`. */
  readonly seq: number;
  readonly rows: readonly EventRow<M>[];
}

/**
 * Starts at the checkpoint, with the messages that it names. If the checkpoint is damaged, starts at the first event that exists.
 */
async function startOf<M>(rows: SessionRows, id: string, checkpointSeq: number): Promise<Start<M>> {
  const [checkpoint] = checkpointSeq > 0 ? await rowsOf<M>(rows, id, [checkpointSeq]) : [];
  if (checkpoint?.event?.type !== 'checkpoint') return { seq: 0, rows: [] };
  const { messages } = checkpoint.event.state as ConversationState<M>;
  const kept = await rowsOf<M>(rows, id, messages.map(seqOfKey));
  return { seq: checkpointSeq, rows: [...kept, checkpoint] };
}

async function eventsOf<M>(rows: SessionRows, id: string, snapshot: Snapshot<M>): Promise<SnapshotEvents<M>> {
  const found = await rowsOf<M>(rows, id, [snapshot.seq, ...snapshot.messages.map(([key]) => seqOfKey(key))]);
  const bySeq = new Map(found.map((row) => [row.seq, row.event ?? ('damaged' as const)]));
  return { holding: (key) => bySeq.get(seqOfKey(key)), last: () => bySeq.get(snapshot.seq) };
}

function noEvents(id: string): PalimpsestError {
  return new PalimpsestError(
    'STORE_DAMAGED',
    `Expected the events of session ${id} but found none that can be read; restore its rows from a backup, or delete the session to begin anew`,
  );
}
