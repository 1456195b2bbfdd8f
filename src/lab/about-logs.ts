import { formatDollars } from '../money/show-money.ts';
import { BY_MODEL, TOKENS } from './compare.ts';
import type { DollarTotal, InferredTotal, ModelRuns, ReplayResult } from './replay-result.ts';

/** Sentences about the logs: their prices and their usage. */
export function aboutLogs({ models = [], inferred, runs, prices }: ReplayResult): string[] {
  return [
    ...(prices[0] === BY_MODEL ? [pricesSentence(models)] : []),
    ...(inferred ? [inferredSentence(inferred, runs.length)] : []),
  ];
}

/** The largest number of models that are named. */
const MOST_MODELS = 6;

function pricesSentence(models: readonly ModelRuns[]): string {
  const known = models.filter(({ prices }) => prices !== undefined);
  const named = known.slice(0, MOST_MODELS).map(({ model, prices, runs }) => `${model} at ${prices} (${runsOf(runs)})`);
  const more = known.length > MOST_MODELS ? `, and ${known.length - MOST_MODELS} more` : '';
  const unknown = sum(models.filter(({ prices }) => prices === undefined));
  const rest = `${runsOf(unknown)} of models with unknown prices ${unknown === 1 ? 'is' : 'are'} counted in tokens only (--prices <list> prices all)`;
  const weights = known.length > 1 ? ' Percentages count the tokens of all models alike, dollars do not.' : '';
  return `Prices by the model in each log: ${named.join(', ')}${more}${unknown > 0 ? `; ${rest}` : ''}.${weights}`;
}

function inferredSentence({ runs, ...all }: InferredTotal, allRuns: number): string {
  const { hiddenTokens, replayedTokens, countedTokens, requests, dollars } = all;
  const bill = dollars === undefined ? '' : `, ${formatDollars(dollars)} with its own cache hits`;
  const share = replayedTokens === 0 ? 0 : Math.round((100 * hiddenTokens) / replayedTokens);
  const each = Math.round(hiddenTokens / requests);
  const hidden =
    each > 0
      ? `${millions(hiddenTokens)} of ${millions(replayedTokens)} tokens (${share} %, about ${count(each)} a request) are not in the logs: system prompt, tools, thinking.`
      : 'the logs hold the whole input.';
  return [
    `Inferred from the provider's usage in ${count(runs)} of ${runsOf(allRuns)}: ${hidden}`,
    `The provider counted ${millions(countedTokens)} for the same requests${bill}.`,
  ].join(' ');
}

/** `$41.20 → $29.80 (−28 %) over 14 days, 212 sessions`. */
export function dollarSentence({ policy, before, after, runs, days }: DollarTotal): string {
  const change = before === 0 ? 0 : Math.round(100 * (after / before - 1));
  const sign = change < 0 ? '\u2212' : '+';
  const period = days === undefined ? '' : `over ${plural(days, 'day')}, `;
  const percent = change === 0 ? '0 %' : `${sign}${Math.abs(change)} %`;
  return `Input with ${policy}: ${formatDollars(before)} → ${formatDollars(after)} (${percent}) ${period === '' ? 'in ' : period}${plural(runs, 'session')}.`;
}

/** The last sentence: the next step. Empty if there is none. */
export function nextSentence({ next, prices, runs, total, dollars }: ReplayResult): string {
  if (runs.length > 0 && prices[0] === TOKENS)
    return 'Next: name a price list to see what a policy saves, such as --prices anthropic-5m.';
  if (!next) return '';
  const { command, dollarsPerMonth } = next;
  if (dollarsPerMonth === undefined) return `Next: ${command}`;
  const withRecalls = total[dollars?.policy ?? '']?.savingWithRecalls?.[prices[0] ?? ''] ?? 0;
  const condition = withRecalls > 0 ? ' if masked texts are rarely needed again' : '';
  return `Next: ${command} (would save about ${formatDollars(dollarsPerMonth)} a month${condition})`;
}

const sum = (models: readonly ModelRuns[]): number => models.reduce((all, { runs }) => all + runs, 0);

const count = (value: number): string => value.toLocaleString('en-US');

const plural = (value: number, one: string): string => `${count(value)} ${one}${value === 1 ? '' : 's'}`;

const runsOf = (value: number): string => plural(value, 'run');

/** `67.5M`, `412k`. */
const millions = (tokens: number): string =>
  tokens >= 999_500 ? `${(tokens / 1e6).toFixed(1)}M` : `${Math.round(tokens / 1000)}k`;
