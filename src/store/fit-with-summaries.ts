import { PalimpsestError } from '../errors.ts';
import { isPlaceholder } from '../laws/idempotent.ts';
import type { Format } from '../message.ts';
import { type FitOptions, type FitResult, fitWith } from '../plan/fit.ts';
import { resolveFormat } from '../plan/resolve-format.ts';
import type { Failed, SummaryRequest } from '../plan/summary.ts';
import { isTruncated } from '../plan/truncate-result.ts';
import type { Store } from './store.ts';
import { type AsyncSummaryWriter, askForSummary, type SummaryLog } from './summary-log.ts';

/** The part of a store that lets other processes find a summary. */
export type NoteStore = Pick<Store, 'getMany' | 'note' | 'putNote'>;

export const isNoteStore = (store: object): store is NoteStore =>
  ['getMany', 'note', 'putNote'].every((name) => typeof (store as Record<string, unknown>)[name] === 'function');

export interface SummaryOptions<M> {
  readonly writer: AsyncSummaryWriter<M>;
  readonly timeoutMs: number;
  readonly log: SummaryLog;
  /** The store of summaries. Undefined if the store keeps no notes. */
  readonly store: NoteStore | undefined;
  /** The conversation under which summaries are recorded. */
  readonly session: string;
}

/** Fits a history with summaries by a model. Each range is summarised once, for all later calls and processes. */
export async function fitWithSummaries<M>(
  messages: readonly M[],
  options: FitOptions,
  summaries: SummaryOptions<M>,
): Promise<FitResult<M>> {
  const { log } = summaries;
  const format = resolveFormat<M>(messages, options.format);
  for (;;) {
    const fitted = fitWith(messages, options, log.find);
    const request = log.takeMissing();
    if (!request) return fitted;
    await log.writeOnce(request.replaced, () => writeMissing(request, format, summaries));
  }
}

const FAILURES = 'summary-failures';
const nameOf = ({ replaced }: SummaryRequest): string => `summary.${replaced}`;

async function writeMissing<M>(request: SummaryRequest, format: Format<M>, options: SummaryOptions<M>): Promise<void> {
  const { writer, timeoutMs, log, store, session } = options;
  const recorded = await readNote(store, session, nameOf(request));
  if (recorded !== undefined) return log.remember(request.replaced, recorded);
  const failures = Number(await store?.note(session, FAILURES)) || 0;
  log.failures = Math.max(log.failures, failures);
  // The next plan sees `isOff` and uses the rules.
  if (log.isOff) return;
  const originals = await restoreOriginals(request.messages as readonly M[], format, store);
  const written = await askForSummary(writer, { messages: originals, earlier: request.earlier, timeoutMs });
  // Another process may have been faster. All processes must send the same summary.
  const other = await readNote(store, session, nameOf(request));
  if (other !== undefined) return log.remember(request.replaced, other);
  log.record(request.replaced, written);
  const text = JSON.stringify(typeof written === 'string' ? { text: written } : written);
  await store?.putNote({ session, name: nameOf(request), text });
  await store?.putNote({ session, name: FAILURES, text: String(log.failures) });
}

async function readNote(
  store: NoteStore | undefined,
  session: string,
  name: string,
): Promise<string | Failed | undefined> {
  try {
    const note = await store?.note(session, name);
    if (note === undefined) return undefined;
    const { text, failed } = JSON.parse(note) as { readonly text?: string; readonly failed?: string };
    return text ?? { failed: failed ?? 'summarize failed before' };
  } catch (error) {
    // A summary that cannot be read is written again.
    if (error instanceof SyntaxError || (error instanceof PalimpsestError && error.code === 'STORE_DAMAGED'))
      return undefined;
    throw error;
  }
}

const HANDLE = /\bp_[a-z2-7]{26}\b/;

/** Puts whole texts back in place of placeholders and cut results, if the store has them. */
async function restoreOriginals<M>(
  messages: readonly M[],
  format: Format<M>,
  store: NoteStore | undefined,
): Promise<readonly M[]> {
  const hidden = messages.flatMap((message, index) =>
    format.view([message]).flatMap((segment) => {
      const isHidden = segment.kind === 'observation' && (isPlaceholder(segment.text) || isTruncated(segment.text));
      const [handle] = isHidden ? (HANDLE.exec(segment.text) ?? []) : [];
      return handle === undefined ? [] : [{ index, segment, handle }];
    }),
  );
  if (hidden.length === 0 || !store) return messages;
  const found = await store.getMany(hidden.map(({ handle }) => handle));
  const restored = [...messages];
  for (const [i, { index, segment }] of hidden.entries()) {
    const text = found[i]?.text;
    if (text !== undefined) restored[index] = format.edit(restored[index] as M, segment, text);
  }
  return restored;
}
