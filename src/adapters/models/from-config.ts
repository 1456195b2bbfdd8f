import type { OpenAIChatMessage } from '../../formats/openai-chat.ts';
import type { Model } from '../../manager/agent/model.ts';
import type { Config } from '../../manager/config/config-schema.ts';
import { badOption, nearest } from '../../options.ts';
import { type FromUrlOptions, fromUrl } from './from-url.ts';

/** The addresses at which providers answer Chat Completions. */
const ADDRESSES: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  deepseek: 'https://api.deepseek.com/v1',
  groq: 'https://api.groq.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  openrouter: 'https://openrouter.ai/api/v1',
  xai: 'https://api.x.ai/v1',
  ollama: 'http://localhost:11434/v1',
  lmstudio: 'http://localhost:1234/v1',
};

/**
 * The model that a `palimpsest.yaml` names, called over HTTP. The file never holds a key: pass it here.
 *
 * @example
 * ```ts
 * import { loadConfig } from 'palimpsest/manager';
 * import { fromConfig } from 'palimpsest/models';
 *
 * const model = fromConfig(await loadConfig(), { apiKey: process.env.API_KEY ?? '' });
 * ```
 */
export function fromConfig(
  { model = {} }: Config,
  options: Omit<FromUrlOptions, 'baseURL' | 'model'> = {},
): Model<OpenAIChatMessage> {
  const { name, provider = '', base_url: baseURL = ADDRESSES[provider] } = model;
  if (name === undefined) throw badOption('model.name', 'the name of a model', name);
  if (baseURL === undefined) throw unknownProvider(provider);
  return fromUrl({ ...options, baseURL, model: name });
}

function unknownProvider(provider: string) {
  const known = Object.keys(ADDRESSES);
  if (provider === 'anthropic') return badOption('model.provider', `asked through fromAnthropic(client)`, provider);
  const near = nearest(provider, known);
  const expected = near
    ? `a known one (did you mean ${near}?)`
    : `one of ${known.join(', ')}, or model.base_url to be given`;
  return badOption('model.provider', expected, provider);
}
