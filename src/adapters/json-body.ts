import { asString, type Fields, isRecord } from '../formats/lens.ts';
import type { AnyFormat, Format } from '../message.ts';
import type { Requirement } from '../plan/report.ts';
import { type AdapterOptions, createAdapter } from './adapter.ts';

/** A request of an SDK, as the option `session` gets it. */
export interface HttpStep {
  /** The address, with its query. */
  readonly url: string;
  /** The headers of the request. */
  readonly headers: Headers;
  /** The JSON of the request. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The part of a body that is fitted, and the other parts that count. */
export interface BodyParts {
  readonly format: AnyFormat;
  /** The field that has the messages. */
  readonly list: string;
  /** The name of the model, if the body has none. */
  readonly model?: string | undefined;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly canRequire: boolean;
}

/** A body that replaces the original one. */
export interface FittedBody {
  readonly body: Fields;
  /** Fields and headers that the request must carry too. */
  readonly requires: readonly Requirement[];
}

/** The signal and the logger of a request. */
export interface SendContext {
  readonly signal?: AbortSignal | null | undefined;
  /** Where warnings go. */
  warn(text: string): void;
}

/** Fits the messages in the JSON bodies of an SDK. */
export interface BodyFitter<Step extends HttpStep> {
  /** Undefined if the request is sent unchanged. */
  fit(step: Step, parts: BodyParts, context: SendContext): Promise<FittedBody | undefined>;
  /** Warns once about each subject. */
  warnOnce(subject: string, text: string, context: SendContext): void;
}

/** The header that names the session of a request. The gateway reads it too. */
const SESSION_HEADER = 'x-session-id';

/** Bad options throw here, before the first request. */
export function createBodyFitter<Step extends HttpStep>(of: string, options: AdapterOptions<Step>): BodyFitter<Step> {
  const adapter = createAdapter(of, options);
  const warned = new Set<string>();
  const warnOnce: BodyFitter<Step>['warnOnce'] = (subject, text, { warn }) => {
    if (!warned.has(subject)) warn(`palimpsest: ${text}`);
    warned.add(subject);
  };
  return {
    warnOnce,
    async fit(step, { format, list, model, system, tools, canRequire }, context) {
      const { body, headers } = step;
      const messages = body[list];
      if (!Array.isArray(messages)) return undefined;
      const request = {
        ...{ messages, format: format as unknown as Format, system, tools, canRequire, step },
        model: model ?? asString(body.model),
        session: headers.get(SESSION_HEADER) ?? undefined,
        signal: context.signal ?? undefined,
        warn: context.warn,
      };
      const fitted = await adapter.fit<unknown>(request);
      if (fitted.plan.edits.length === 0) return undefined;
      return { body: { ...body, [list]: fitted.messages }, requires: fitted.requires };
    },
  };
}

/** The JSON object in the body of a request; undefined for everything else. */
export function readJson(body: unknown): Fields | undefined {
  if (typeof body !== 'string') return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    return isRecord(parsed) && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The headers for a body of another length. */
export function withoutLength(given: Headers): Headers {
  const headers = new Headers(given);
  headers.delete('content-length');
  return headers;
}

/** An address without its query. In a browser it may have no host. */
export const pathOf = (url: string): string => url.replace(/[?#].*$/s, '');
