import { type Fields, isRecord } from '../../formats/lens.ts';

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
  /** Its `gen_ai.operation.name` in OpenTelemetry, if that is not `chat`. */
  readonly operation?: string;
  /** Reads and edits its messages. */
  readonly format: Format<object>;
  /** The field with the messages. */
  readonly messages: string;
  /** The field whose object has the messages and the overhead, if those are not at the top. */
  readonly envelope?: string;
  /** The fields with system prompt and tools, which count towards the size of a request. */
  readonly overhead: readonly string[];
  /** A request whose text has none of these holds no tool result and no cache marker. */
  readonly resultSigns: readonly string[];
  /** The prices of an unknown model: it is probably cached, and waiting is the cheapest mistake. */
  readonly prices: Prices;
  /** The model, if it is in the path and not in the body. */
  readonly modelInPath?: RegExp;
  /** Precedes the names of models in receipts, if customers choose these names: such a name has no list price. */
  readonly modelPrefix?: string;
  /** The id of the call that a result answers, from the result itself. */
  answers(message: Fields, path: readonly (string | number)[]): string;
  /** Whether a request asks the provider to compact the conversation, by its path or its last message. */
  asksToCompact?(request: { readonly path: string; readonly last: Fields | undefined }): boolean;
  /** Whether a request asks for an answer in JSON, by its fields other than messages, system prompt and tools. */
  asksForJson?(field: (name: string) => unknown): boolean;
  /** The id of the agent's session, if agents put one into a field of the body. */
  sessionIn?(field: (name: string) => unknown): unknown;
  /**
   * For a result that is an object: the member that a mask replaces, and the member that is removed with it. An object with one of the
   * members of `whole` is replaced itself.
   */
  readonly resultMembers?: {
    readonly content: string;
    readonly attachments: string;
    readonly whole: readonly string[];
  };
  /** The blocks of the message that was scanned last, on which cache markers may be. */
  readBlocks?(scan: JsonScan, message: Fields): BlockPlace[];
  /** Whether the gateway may place its own cache marker. */
  readonly placesMarkers?: true;
  /** Thinking that is signed over everything before it. */
  readonly boundThinking?: BoundThinking;
  /** A line of a stream without any of these has no usage. */
  readonly usageSigns: readonly string[];
  /** Whether the server may cut a prompt and count only the rest: its counts then do not calibrate ours. */
  readonly cutsPrompts?: true;
  /** The usage in an answer, or in an event of a stream. */
  usageIn(event: Fields): UsageFields;
  /** A line of a stream without any of these, and without a sign of usage, does not show how the answer ends. */
  readonly endSigns: readonly string[];
  /** How an answer ends, by the answer or an event of a stream. */
  endIn(event: Fields): AnswerEnd;
}

/** A server that speaks APIs. */
export interface ProviderRow {
  /** Its official address; for a server on this machine, the default one. */
  readonly address: string;
  /** The APIs of other providers that it speaks too. */
  readonly speaks?: readonly string[];
  /** Its `gen_ai.provider.name` in OpenTelemetry, if that is not the prefix. */
  readonly telemetryName?: string;
  /** Prices in place of those by the name of the model. */
  readonly prices?: Prices;
  readonly signs?: ProviderSigns;
}

/** How requests for a provider are recognised without its prefix. */
export interface ProviderSigns {
  /** Requests that are its own, whatever prefix or header of another provider they have. */
  isOwn?(request: Pick<RequestLine, 'url' | 'headers'>): boolean;
  /** These decide only if no API has the path. */
  readonly headers?: readonly string[];
  readonly path?: RegExp;
  readonly query?: RegExp;
}

/** The parts of a request that show its provider. */
export interface RequestLine {
  readonly method: string;
  /** The target as in the request line. */
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
  /** Whether it asks for the size of a request: planned in the same way, but nothing is stored or recorded. */
  readonly isCountTokens?: true;
}

/** The usage in an answer or event, as written there. */
export interface UsageFields {
  readonly usage?: unknown;
  /** The model that answered. */
  readonly model?: unknown;
  /** The list of thinking blocks that the provider left out. */
  readonly droppedThinking?: unknown;
}

/** How an answer ends. */
export interface AnswerEnd {
  /** Whether the model stopped by itself. False if it was cut off or waits for a tool; undefined if this event does not say. */
  readonly isComplete?: boolean | undefined;
  /** Whether there is a call of a tool that the client runs. */
  readonly hasCall?: boolean;
}

/** A format whose messages may be any object: they come from clients. */
export const anyMessage = <M>(format: Format<M>): Format<object> => format as unknown as Format<object>;

/** The model of a request, from its body or path. */
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

/** A part of a list in a message; an empty one if there is none. */
export function partAt(message: Fields, list: string, index: unknown): Fields {
  const parts = message[list];
  const part = Array.isArray(parts) ? parts[index as number] : undefined;
  return isRecord(part) ? part : {};
}
