import { isPlaceholder } from '../laws/idempotent.ts';
import type { Format, Media, Segment, Viewer, Violation } from '../message.ts';
import { sizeMedia, sizeUnknown } from '../tokens/media.ts';
import { NamedCalls } from './calls.ts';
import { newSegment, type Place, withMedia } from './content.ts';
import { asList, asString, createFormat, type Fields, isRecord, toText } from './lens.ts';

/** A `Content` of the Gemini API. */
export interface GeminiContent {
  /** `user` or `model`. */
  role?: string;
  /** A list of parts, such as `{ text }`, `{ functionCall }` and `{ functionResponse }`. */
  parts?: unknown;
}

/** The `contents` of Gemini's generateContent. */
export const gemini: Format<GeminiContent> = createFormat<GeminiContent>({
  name: 'gemini',
  noteRole: 'user',
  viewer: () => new GeminiViewer(),
  replace: replaceResponse,
  argumentPaths: [['functionCall', 'args']],
  note: (_role, text) => ({ role: 'user', parts: [{ text }] }),
  check,
});

class GeminiViewer implements Viewer<GeminiContent> {
  turn = 0;
  #index = 0;
  isReply = false;
  readonly #calls = new NamedCalls();

  add(content: GeminiContent, into: Segment[]): void {
    const index = this.#index++;
    if (!isRecord(content)) return;
    const isReply = content.role === 'model';
    if (isReply && !this.isReply) this.turn += 1;
    this.isReply = isReply;
    const parts = Array.isArray(content.parts) ? content.parts : [];
    let answer: Segment | undefined;
    for (const [i, part] of parts.entries()) {
      const place = { turn: this.turn, message: index, path: ['parts', i] };
      const kind = isReply ? 'reasoning' : 'user';
      if (answer && isRecord(part) && (isFile(part) || isHiddenFile(part))) {
        into.push(fileOf(answer, part, place));
        continue;
      }
      answer = undefined;
      if (isRecord(part)) into.push(this.#part(part, kind, place));
      else if (typeof part === 'string') into.push({ kind, ...place, text: part });
      if (isRecord(part) && isRecord(part.functionResponse)) answer = into.at(-1);
    }
  }

  #part(part: Fields, kind: 'reasoning' | 'user', place: Place): Segment {
    const bound = part.thoughtSignature === undefined ? {} : { bound: true };
    if (isRecord(part.functionCall)) return { ...this.#call(part.functionCall, place), ...bound };
    if (isRecord(part.functionResponse)) return this.#response(part.functionResponse, place);
    if (typeof part.text === 'string') return newSegment(kind, place, { text: part.text }, bound);
    return { kind, ...place, text: '', media: [sizePart(part)], ...bound };
  }

  #call(call: Fields, place: Place): Segment {
    const { callId, tool } = this.#calls.made(asString(call.id), asString(call.name) ?? 'function');
    return newSegment('action', place, { text: toText(call.args) }, { callId, tool });
  }

  #response(answer: Fields, place: Place): Segment {
    const call = this.#calls.answered(asString(answer.id), asString(answer.name));
    const { turn, message, path } = place;
    const content = withMedia(responseText(answer.response), asList(answer.parts).map(sizePart));
    return newSegment('observation', { turn, message, path: [...path, 'functionResponse'] }, content, {
      callId: call?.callId,
      tool: asString(answer.name) ?? call?.tool,
      isError: hasFailed(answer) || undefined,
    });
  }
}

const isFile = ({ inlineData, fileData }: Fields): boolean => isRecord(inlineData) || isRecord(fileData);

/** Whether a part is the placeholder of a file. */
const isHiddenFile = ({ text }: Fields): boolean => typeof text === 'string' && isPlaceholder(text);

/** A file right after a response belongs to the tool: models before Gemini 3 take no files inside a response. */
function fileOf({ callId, tool }: Segment, part: Fields, place: Place): Segment {
  const content = isFile(part) ? { text: '', media: [sizePart(part)] } : { text: toText(part.text) };
  return newSegment('observation', place, content, { callId, tool });
}

const hasFailed = ({ response }: Fields): boolean => isRecord(response) && Boolean(response.error);

/** The text of `{ output: "…" }` and similar responses; otherwise the JSON. */
function responseText(response: unknown): string {
  if (!isRecord(response)) return toText(response);
  const values = Object.values(response);
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : toText(response);
}

function replaceResponse(answer: unknown, text: string): unknown {
  if (!isRecord(answer)) return answer;
  if (isFile(answer) || isHiddenFile(answer)) return { text };
  const { parts: _media, ...rest } = answer;
  return { ...rest, response: { [textField(answer)]: text } };
}

/** The field with the text, so that `{ result: "…" }` keeps its shape. Otherwise `output`. */
function textField(answer: Fields): string {
  if (hasFailed(answer)) return 'error';
  const { response } = answer;
  if (!isRecord(response) || Array.isArray(response)) return 'output';
  const [field = 'output', ...others] = Object.keys(response);
  // An empty error is no error. With a text in that field, the result would look failed.
  if (field === 'error') return 'output';
  return others.length === 0 && typeof response[field] === 'string' ? field : 'output';
}

function sizePart(part: Fields): Media {
  const inline = isRecord(part.inlineData) ? part.inlineData : undefined;
  const file = isRecord(part.fileData) ? part.fileData : undefined;
  const source = inline ?? file;
  return source ? sizeMedia('gemini', asString(source.mimeType) ?? 'application', inline?.data) : sizeUnknown(part);
}

const COUNT_WORDS =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
const CALL_WORDS =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
const RESPONSE_WORDS = 'Please ensure that function response turn comes immediately after a function call turn.';
const SIGNATURE_WORDS = 'Function call is missing a thought_signature in functionCall parts.';

function check(contents: readonly GeminiContent[]): Violation[] {
  const violations: Violation[] = [];
  const say = (message: number, text: string, about: string): void => {
    violations.push({ law: text === SIGNATURE_WORDS ? 'bound-reasoning' : 'pairs', message, text, about });
  };
  for (const [index, content] of contents.entries()) {
    const calls = partsWith(content, 'functionCall');
    const answers = partsWith(content, 'functionResponse');
    const before = contents[index - 1];
    const after = contents[index + 1];
    if (calls.length > 0 && (index === 0 || before?.role === 'model')) say(index, CALL_WORDS, nameOf(calls));
    if (calls.length > 0 && after && partsWith(after, 'functionResponse').length !== calls.length) {
      say(index, COUNT_WORDS, nameOf(calls));
    }
    if (answers.length > 0 && partsWith(before, 'functionCall').length === 0)
      say(index, RESPONSE_WORDS, nameOf(answers));
  }
  for (const [index, content] of currentTurn(contents)) {
    const first = asList(content?.parts).find((part) => isRecord(part.functionCall));
    if (first && first.thoughtSignature === undefined) say(index, SIGNATURE_WORDS, nameOf([first]));
  }
  return violations;
}

function partsWith(content: GeminiContent | undefined, key: string): readonly Fields[] {
  return asList(content?.parts).filter((part) => isRecord(part[key]));
}

function nameOf(parts: readonly Fields[]): string {
  const names = parts.map((part) => {
    const inner = (part.functionCall ?? part.functionResponse) as Fields;
    return asString(inner.id) ?? asString(inner.name) ?? '';
  });
  return names.join(', ');
}

/** The calls since the last user text, if any of them is signed: then all must be. */
function currentTurn(contents: readonly GeminiContent[]): [number, GeminiContent][] {
  const isUserText = (content: GeminiContent): boolean =>
    content?.role !== 'model' && partsWith(content, 'functionResponse').length === 0;
  const start = contents.findLastIndex(isUserText);
  const turn = contents.map((content, i): [number, GeminiContent] => [i, content]).slice(start + 1);
  const isSigned = ([, content]: [number, GeminiContent]): boolean =>
    asList(content?.parts).some((part) => isRecord(part.functionCall) && part.thoughtSignature !== undefined);
  return turn.some(isSigned) ? turn : [];
}
