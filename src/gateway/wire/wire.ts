import type { Fields } from '../../formats/lens.ts';
import type { Format } from '../../message.ts';
import type { Prices } from '../../plan/prices.ts';
import type { JsonScan } from '../bytes/json-scan.ts';
import type { BoundThinking } from './bound-thinking.ts';
import type { BlockPlace } from './cache-markers.ts';

/** Everything that is particular to one API. The other files of the gateway know APIs only by this. */
export interface Wire {
  /** The provider that it belongs to. Its paths go there if no prefix names another. */
  readonly home: Home;
  readonly routes: readonly WireRoute[];
  /** Its `gen_ai.operation.name` in OpenTelemetry, where that is not `chat`. */
  readonly operation?: string;
  /** Reads and edits its messages. */
  readonly format: Format<object>;
  /** The field with the messages. */
  readonly messages: string;
  /** The field whose object has the messages and the overhead, where those are not at the top. */
  readonly envelope?: string;
  /** The fields with system prompt and tools, which count towards the size of a request. */
  readonly overhead: readonly string[];
  /** A request whose text has none of these holds no tool result and no cache marker. */
  readonly resultSigns: readonly string[];
  /** The prices of a model whose name tells nothing: more likely cached than not, and waiting costs least. */
  readonly prices: Prices;
  /** The model, where it is in the path and not in the body. */
  readonly modelInPath?: RegExp;
  /** Put before the names of models in receipts, where customers name models as they like: such a name tells no price. */
  readonly modelPrefix?: string;
  /** The id of the call that a result answers, as the result itself tells it. */
  answers(message: Fields, path: readonly (string | number)[]): string;
  /** Whether a request asks the provider to compact the conversation, as its path or its last message tells. */
  asksToCompact?(request: { readonly path: string; readonly last: Fields | undefined }): boolean;
  /** Whether a request asks for an answer in JSON, as its fields beside messages, system prompt and tools tell. */
  asksForJson?(field: (name: string) => unknown): boolean;
  /** The id of the agent's session, where agents put one into such a field. */
  sessionIn?(field: (name: string) => unknown): unknown;
  /**
   * Of a result that is an object, the member that a mask replaces, and the one that goes with it. An object with one of the
   * members of `whole` is replaced itself.
   */
  readonly resultMembers?: {
    readonly content: string;
    readonly attachments: string;
    readonly whole: readonly string[];
  };
  /** The blocks of the message that was scanned last, on which cache markers may be. */
  readBlocks?(scan: JsonScan, message: Fields): BlockPlace[];
  /** The gateway may place a cache marker of its own. */
  readonly placesMarkers?: true;
  /** Thinking that is signed over everything before it. */
  readonly boundThinking?: BoundThinking;
  /** A line of a stream that has none of these tells no usage. */
  readonly usageSigns: readonly string[];
  /** The server may cut a prompt and count what is left: its counts say nothing about the size of our tokens. */
  readonly cutsPrompts?: true;
  /** The usage in an answer, or in an event of a stream. */
  usageIn(event: Fields): UsageFields;
  /** A line of a stream that has none of these, and no sign of usage, does not tell how the answer ends. */
  readonly endSigns: readonly string[];
  /** How an answer ends, as the answer or an event of a stream tells. */
  endIn(event: Fields): AnswerEnd;
}

/** A server that speaks APIs. */
export interface ProviderRow {
  /** Its official address; of a server that runs on this machine, the default one. */
  readonly address: string;
  /** The APIs of other providers that it speaks too. */
  readonly speaks?: readonly string[];
  /** Its `gen_ai.provider.name` in OpenTelemetry, where that is not the prefix. */
  readonly telemetryName?: string;
  /** In place of those that the name of the model tells. */
  readonly prices?: Prices;
  readonly signs?: ProviderSigns;
}

/** How requests for a provider are recognised that do not have its prefix. */
export interface ProviderSigns {
  /** Requests that are its own, whatever prefix or header of another provider they have. */
  isOwn?(request: Pick<RequestLine, 'url' | 'headers'>): boolean;
  /** These decide only where no API has the path. */
  readonly headers?: readonly string[];
  readonly path?: RegExp;
  readonly query?: RegExp;
}

/** The parts of a request that tell providers apart. */
export interface RequestLine {
  readonly method: string;
  /** As it is in the request line. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The provider that an API belongs to. Its name is the prefix under which the gateway serves it. */
export interface Home extends ProviderRow {
  readonly name: string;
}

/** A path that speaks this API. */
export interface WireRoute {
  readonly path: RegExp;
  /** Asks for the size of a request: planned alike, nothing is stored or recorded. */
  readonly isCountTokens?: true;
}

/** The usage that an answer or event tells, as it is written there. */
export interface UsageFields {
  readonly usage?: unknown;
  /** The model that answered. */
  readonly model?: unknown;
  /** The list of thinking blocks that the provider left out. */
  readonly droppedThinking?: unknown;
}

/** How an answer ends. */
export interface AnswerEnd {
  /** The model stopped by itself. False where it was cut off or waits for a tool; undefined where this event does not tell. */
  readonly isComplete?: boolean | undefined;
  /** There is a call of a tool that the client runs. */
  readonly hasCall?: boolean;
}

/** A format whose messages may be any object: they come from clients. */
export const anyMessage = <M>(format: Format<M>): Format<object> => format as unknown as Format<object>;

/** The model of a request, where body or path tells. */
export function modelOf(
  { modelInPath }: Wire,
  { model, path }: { readonly model: unknown; readonly path: string },
): string | undefined {
  // Google's clients may write the path of a model for its name.
  if (typeof model === 'string' && model !== '') return model.replace(/^models\//, '');
  const name = modelInPath?.exec(path)?.[1];
  return name && decoded(name);
}

/** A name in a path may be escaped: `claude-opus-4-5%4020251101`. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Whether a list has anything in it. */
export const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** A part of a list in a message; an empty one where there is none. */
export function partAt(message: Fields, list: string, index: unknown): Fields {
  const parts = message[list];
  const part = Array.isArray(parts) ? parts[index as number] : undefined;
  return typeof part === 'object' && part !== null ? part : {};
}
