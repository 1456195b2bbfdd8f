import { recallLimits } from '../../limits.ts';
import { headOf } from '../../text.ts';
import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import { type Recalled, type RecallOptions, recall } from '../recall.ts';
import type { Signal, Store } from '../store.ts';
import { imagesIn, type TextAndImages, TextWithImages } from '../stored-images.ts';
import { checkRecallInput, hasPart, type RecallInput } from './recall-input.ts';
import { opening, type Request } from './request.ts';
import { showMatches } from './show-matches.ts';
import { showOutline } from './show-outline.ts';
import { showPart } from './show-part.ts';

export interface AnswerOptions {
  readonly maxChars: number;
  readonly signal?: Signal | undefined;
}

/** Room for the lines before and after the text. */
const ROOM_FOR_WORDS = 700;

/**
 * Answers a recall by a model: the requested part, else a short text whole or the outline of a long one. Every recall tool uses
 * it. Images are included if no part is requested.
 */
export async function answerRecall(
  store: Store,
  input: RecallInput,
  { maxChars, signal }: AnswerOptions,
): Promise<string | TextWithImages> {
  const asked = checkRecallInput(input);
  const recalled = await recall(store, asked.handle, { ...toOptions(asked), signal });
  const request = { ...asked, room: maxChars - ROOM_FOR_WORDS };
  if (asked.grep !== undefined) return showMatches(recalled, request);
  if (hasPart(asked) || asked.offset !== undefined) return showPart(recalled, request);
  const found = imagesIn(recalled.text);
  if (found) return showImages(found, request);
  return asked.all ? showPart(recalled, request) : showShortest(recalled, request);
}

function toOptions({ handle: _handle, ignore_case: ignoreCase, offset: _offset, all: _all, ...part }: RecallInput) {
  const given = Object.entries({ ...part, ignoreCase }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as RecallOptions;
}

/** A short text whole. A long text as an outline, unless that is hardly shorter. */
function showShortest(recalled: Recalled, request: Request): string {
  if (isShort(recalled.text)) return showPart(recalled, request);
  const outline = showOutline(recalled, request);
  return outline.length > recalled.text.length * 0.75 ? showPart(recalled, request) : outline;
}

const MOST_CHARS = 4 * recallLimits.wholeTokens;

const isShort = (text: string): boolean =>
  text.length <= MOST_CHARS && estimateTokens(text) <= recallLimits.wholeTokens;

/** Adds images. They do not count against the size of an answer, but have their own limit. */
function showImages({ text, images }: TextAndImages, { handle, room, all }: Request): TextWithImages {
  const textRoom = all ? room : Math.min(room, MOST_CHARS);
  const chars = images.reduce((sum, { data }) => sum + data.length, 0);
  const what = images.length === 1 ? 'with an image' : `with ${images.length} images`;
  const isTooLarge = chars > recallLimits.imageChars;
  const notes = [
    ...(text.length > textRoom ? [`[${cutNote(all)}]`] : []),
    ...(isTooLarge ? [`[The images are too large for an answer: ${chars} characters of base64.]`] : []),
  ];
  const shown = [opening(handle, what), headOf(text, textRoom), ...notes].join('\n');
  return new TextWithImages({ text: shown, images: isTooLarge ? [] : images });
}

const cutNote = (all = false): string =>
  all
    ? 'The text is cut: recall it with head, tail, lines or grep.'
    : 'The text is cut: recall it with "all": true, or with head, tail, lines or grep.';
