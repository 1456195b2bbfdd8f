/** Dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
  /** A cached token, if its price differs from the price list of the cache (`src/plan/prices.ts`). */
  readonly cacheRead?: number;
  /** A token that is written to the cache for the usual time, under the same condition. */
  readonly cacheWrite?: number;
}

/** The price of a model. */
export interface ModelPrice extends Rates {
  /** The rates of a whole request whose prompt has more than `tokens` tokens, in rising order. */
  readonly above?: readonly LongRates[];
  /** The context window, in tokens. */
  readonly window?: number;
  /** The page that shows the price, and the date. */
  readonly source: string;
  readonly date: string;
}

export interface LongRates extends Rates {
  readonly tokens: number;
}

type Unsourced = Omit<ModelPrice, 'source' | 'date'>;

const read = (source: string, date: string) => (price: Unsourced) => Object.freeze({ ...price, source, date });

const MODELS_DEV = 'https://github.com/anomalyco/models.dev/blob';
const LLM_PRICES = 'https://github.com/simonw/llm-prices/blob';

// The date is the day on which the page was read, or the one that the list itself gives.
const claude = read('https://platform.claude.com/docs/en/about-claude/pricing', '2026-11-16');
const claudeModel = (name: string) => read(`https://platform.claude.com/docs/en/models/${name}/overview`, '2026-11-16');
const sonnet55 = read(
  `${MODELS_DEV}/482fb019a4847290b37990da929dc707d9243dca/providers/anthropic/models/claude-sonnet-5-5.toml`,
  '2026-10-03',
);
const longSonnet = read(`${LLM_PRICES}/265965dee6cdbd7ba90ab11c260077dc0fcfa291/data/anthropic.json`, '2026-11-16');
const openaiModel = (name: string) => read(`https://developers.openai.com/api/docs/models/${name}`, '2026-11-16');
const openaiList = read(`${LLM_PRICES}/0838d1aca5cc5cb2b5f61cc551adb09e517a0da7/data/openai.json`, '2026-11-16');
const googleList = read(`${LLM_PRICES}/014a62da459805dcea25aaa644cf7a90ec9e4000/data/google.json`, '2026-11-16');
const modelsDev = (commit: string, file: string) => read(`${MODELS_DEV}/${commit}/providers/${file}`, '2026-11-16');

const MILLION = 1_000_000;
const GPT_5 = 400_000;
const GPT_LONG = 1_050_000;

/**
 * List prices by the name that the provider gives the model. Only prices that were seen in the source are here: a model
 * without one is shown in tokens. DeepSeek is missing because its price depends on the time of day.
 */
export const modelPrices: Readonly<Record<string, ModelPrice>> = {
  'claude-fable-5-1': claude({ input: 10, output: 50, cacheRead: 0.25, window: MILLION }),
  'claude-fable-5': claude({ input: 10, output: 50, window: MILLION }),
  'claude-opus-5-5': claudeModel('opus-5-5')({ input: 4, output: 20, cacheRead: 0.2, window: MILLION }),
  'claude-opus-5': claude({ input: 5, output: 25, window: MILLION }),
  'claude-opus-4-8': claude({ input: 5, output: 25 }),
  'claude-opus-4-7': claude({ input: 5, output: 25 }),
  'claude-opus-4-6': claude({ input: 5, output: 25 }),
  'claude-opus-4-5': claude({ input: 5, output: 25 }),
  'claude-opus-4-1': claude({ input: 15, output: 75 }),
  'claude-opus-4': claude({ input: 15, output: 75 }),
  'claude-sonnet-5-5': sonnet55({ input: 2, output: 10, cacheRead: 0.1, window: MILLION }),
  'claude-sonnet-5': claudeModel('sonnet-5')({ input: 2, output: 10, window: MILLION }),
  'claude-sonnet-4-6': claude({ input: 3, output: 15 }),
  'claude-sonnet-4-5': longSonnet({ input: 3, output: 15, above: [{ tokens: 200_000, input: 6, output: 22.5 }] }),
  'claude-sonnet-4': longSonnet({ input: 3, output: 15, above: [{ tokens: 200_000, input: 6, output: 22.5 }] }),
  'claude-haiku-5-5': claudeModel('haiku-5-5')({
    input: 0.1,
    output: 0.5,
    above: [{ tokens: 100_000, input: 0.5, output: 2.5 }],
    window: MILLION,
  }),
  'claude-haiku-4-5': claude({ input: 1, output: 5, window: 200_000 }),
  'claude-3-7-sonnet': claude({ input: 3, output: 15 }),
  'claude-3-5-sonnet': read(
    'https://docs.anthropic.com/en/docs/about-claude/pricing',
    '2026-11-16',
  )({
    input: 3,
    output: 15,
  }),
  'claude-3-5-haiku': claude({ input: 0.8, output: 4 }),
  'claude-3-opus': claude({ input: 15, output: 75 }),
  'claude-3-haiku': claude({ input: 0.25, output: 1.25, cacheRead: 0.03, cacheWrite: 0.3 }),

  'gpt-6-astra': modelsDev(
    'e2f67ad689b593eca60f55be618a3f438468cc43',
    'openai/models/gpt-6-astra.toml',
  )({
    input: 10,
    output: 50,
    above: [{ tokens: 272_000, input: 20, output: 75 }],
  }),
  // "Promotional" until 2026-11-21 at least, says the page.
  'gpt-5.6-sol': openaiModel('gpt-5.6-sol')({
    input: 4,
    output: 20,
    above: [{ tokens: 272_000, input: 8, output: 30 }],
    window: GPT_LONG,
  }),
  // "The gpt-5.6 alias routes requests to GPT-5.6 Sol."
  'gpt-5.6': openaiModel('gpt-5.6-sol')({
    input: 4,
    output: 20,
    above: [{ tokens: 272_000, input: 8, output: 30 }],
    window: GPT_LONG,
  }),
  'gpt-5.6-luna': openaiModel('gpt-5.6-luna')({
    input: 0.2,
    output: 1.2,
    above: [{ tokens: 272_000, input: 0.4, output: 1.8 }],
    window: GPT_LONG,
  }),
  'gpt-5.5': openaiList({ input: 5, output: 30, above: [{ tokens: 272_000, input: 10, output: 45 }] }),
  'gpt-5.4': openaiList({ input: 2.5, output: 15, above: [{ tokens: 272_000, input: 5, output: 22.5 }] }),
  'gpt-5.4-mini': openaiList({ input: 0.75, output: 4.5 }),
  'gpt-5.4-nano': openaiList({ input: 0.2, output: 1.25 }),
  'gpt-5.3-codex': modelsDev(
    'ecee1e6258445b5bc7b6159247fba74257b7f28e',
    'openai/models/gpt-5.3-codex.toml',
  )({
    input: 1.75,
    output: 14,
    window: GPT_5,
  }),
  'gpt-5.2-codex': modelsDev(
    '7156de4d5825093ddcdb8be627cdd196e5f657de',
    'openai/models/gpt-5.2-codex.toml',
  )({
    input: 1.75,
    output: 14,
    window: GPT_5,
  }),
  'gpt-5.2': openaiList({ input: 1.75, output: 14 }),
  'gpt-5.1-codex-max': modelsDev(
    'bc73d0816cf298a3df168d3e161e389b5a8f3ed2',
    'openai/models/gpt-5.1-codex-max.toml',
  )({
    input: 1.25,
    output: 10,
  }),
  'gpt-5.1-codex-mini': openaiList({ input: 0.25, output: 2 }),
  'gpt-5.1-codex': openaiList({ input: 1.25, output: 10 }),
  'gpt-5.1': openaiList({ input: 1.25, output: 10 }),
  'gpt-5-codex': openaiModel('gpt-5-codex')({ input: 1.25, output: 10, window: GPT_5 }),
  'gpt-5-mini': openaiList({ input: 0.25, output: 2 }),
  'gpt-5-nano': openaiList({ input: 0.05, output: 0.4 }),
  'gpt-5': openaiList({ input: 1.25, output: 10 }),
  'gpt-4.1-mini': openaiList({ input: 0.4, output: 1.6 }),
  'gpt-4.1-nano': openaiList({ input: 0.1, output: 0.4 }),
  'gpt-4.1': openaiList({ input: 2, output: 8 }),
  'gpt-4o-mini': openaiList({ input: 0.15, output: 0.6 }),
  // The first snapshot costs more than the later ones, and has no discount for its cache.
  'gpt-4o-2024-05-13': modelsDev(
    '0f899d76d45b33f3d10b189f4b972e7df6c2b6b2',
    'openai/models/gpt-4o-2024-05-13.toml',
  )({
    input: 5,
    output: 15,
    cacheRead: 5,
    window: 128_000,
  }),
  'gpt-4o': openaiList({ input: 2.5, output: 10 }),
  'o4-mini': openaiList({ input: 1.1, output: 4.4 }),
  'o3-mini': openaiList({ input: 1.1, output: 4.4 }),

  // Introductory until 2026-12-31; 1.50 and 7.50 from then on, says the list.
  'gemini-3.8-flash': modelsDev(
    '91a19838362bf054937e0e5534d8871762f354f8',
    'google/models/gemini-3.8-flash.toml',
  )({
    input: 0.75,
    output: 3.75,
  }),
  'gemini-3.7-flash': modelsDev(
    '51cba2e6a4d5bcf6b73faf7333ee7a22063d7564',
    'google/models/gemini-3.7-flash.toml',
  )({
    input: 1.5,
    output: 7.5,
  }),
  'gemini-3.6-flash': googleList({ input: 1.5, output: 7.5 }),
  'gemini-3.5-flash': googleList({ input: 1.5, output: 9 }),
  'gemini-3.5-flash-lite': googleList({ input: 0.3, output: 2.5 }),
  'gemini-3.1-pro-preview': modelsDev(
    '2593e131a1e02e1c69412c50b233986e2ab433e4',
    'google/models/gemini-3.1-pro-preview.toml',
  )({ input: 2, output: 12, above: [{ tokens: 200_000, input: 4, output: 18 }], window: 1_048_576 }),
  'gemini-3.1-flash-lite-preview': googleList({ input: 0.25, output: 1.5 }),
  'gemini-3-pro-preview': modelsDev(
    '2593e131a1e02e1c69412c50b233986e2ab433e4',
    'google/models/gemini-3-pro-preview.toml',
  )({ input: 2, output: 12, above: [{ tokens: 200_000, input: 4, output: 18 }], window: MILLION }),
  'gemini-3-flash-preview': modelsDev(
    '96e7a00f4333b7b909a57a0f3bf63dc8f02f1a48',
    'google/models/gemini-3-flash-preview.toml',
  )({ input: 0.5, output: 3, window: 1_048_576 }),
  'gemini-2.5-pro': googleList({ input: 1.25, output: 10, above: [{ tokens: 200_000, input: 2.5, output: 15 }] }),
  'gemini-2.5-flash': googleList({ input: 0.3, output: 2.5 }),
  'gemini-2.5-flash-lite': googleList({ input: 0.1, output: 0.4 }),

  'qwen3-coder-plus': modelsDev(
    '0654d77cad6b9536b8bafcc23ebd92232a82be77',
    'alibaba/models/qwen3-coder-plus.toml',
  )({
    input: 1,
    output: 5,
    cacheRead: 0.2,
    above: [
      { tokens: 32_000, input: 1.8, output: 9, cacheRead: 0.36 },
      { tokens: 128_000, input: 3, output: 15, cacheRead: 0.6 },
      { tokens: 256_000, input: 6, output: 60, cacheRead: 1.2 },
    ],
  }),
};
