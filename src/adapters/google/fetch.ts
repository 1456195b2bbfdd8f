import { gemini } from '../../formats/gemini.ts';
import type { AnyFormat } from '../../message.ts';
import { badOption, func, given } from '../../options.ts';
import { type BodyFitter, createBodyFitter, type HttpStep, pathOf, readJson, withoutLength } from '../json-body.ts';
import type { GenAiOptions } from './index.ts';
import { fetchWithoutTimeouts } from './without-timeouts.ts';

export function createFetch(options: GenAiOptions): typeof fetch {
  const { fetch: send = fetchWithoutTimeouts, ...rest } = given('palimpsest.fetch', options);
  if (!func.check(send)) throw badOption('palimpsest.fetch option fetch', func.expected, send);
  const fitter = createBodyFitter<HttpStep>('palimpsest.fetch', rest);
  // The address is a text. Only the Interactions API gives a Request, which passes.
  return async (input, init = {}) => send(input, await fitInit(init, String(input), fitter));
}

/** `…/models/gemini-3-pro:generateContent`, and the longer paths of Vertex AI to models and endpoints. */
const PATH = /\/([^/:]+):(?:g|streamG)enerateContent$/;

/** The request with fitted contents, or unchanged. */
async function fitInit(init: RequestInit, url: string, fitter: BodyFitter<HttpStep>): Promise<RequestInit> {
  const [, model] = PATH.exec(pathOf(url)) ?? [];
  const body = model === undefined ? undefined : readJson(init.body);
  if (!body) return init;
  const headers = new Headers(init.headers);
  const { systemInstruction: system, tools } = body;
  const parts = { format: gemini as unknown as AnyFormat, list: 'contents', model, system, tools, canRequire: false };
  const context = { signal: init.signal, warn: (text: string) => console.warn(text) };
  const fitted = await fitter.fit({ url, headers, body }, parts, context);
  return fitted ? { ...init, headers: withoutLength(headers), body: JSON.stringify(fitted.body) } : init;
}
