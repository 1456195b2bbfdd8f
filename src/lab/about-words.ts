import { type Prices, priceLists } from '../plan/prices.ts';
import { isHindsight } from './compare.ts';
import type { ReplayResult } from './replay-result.ts';

/** A word that the reader of a replay meets, and its meaning in one sentence. */
export interface Word {
  readonly word: string;
  readonly meaning: string;
}

/** The words of a table of policies, in the order in which the reader meets them. Words that the table lacks are left out. */
export function aboutWords({ policies, prices, total }: Pick<ReplayResult, 'policies' | 'prices' | 'total'>): Word[] {
  const has = (name: string): boolean => policies.some((policy) => policy.split(':')[0] === name);
  const named = prices.flatMap((name): Word[] => {
    const list = (priceLists as Readonly<Record<string, Prices>>)[name];
    return list ? [{ word: name, meaning: priceMeaning(list) }] : [];
  });
  return [
    ...named,
    ...(has('none') ? [{ word: 'none', meaning: 'sends everything; all others are compared with it' }] : []),
    ...(has('break-even')
      ? [
          {
            word: 'break-even',
            meaning: 'masks old results in batches, when waiting has cost about what masking costs',
          },
        ]
      : []),
    ...(policies.some(isHindsight)
      ? [{ word: 'optimum', meaning: 'the cheapest times to mask, known only after the run; no agent can use it' }]
      : []),
    { word: 'epoch', meaning: 'a request that changes earlier messages: the provider caches the rest again' },
    { word: 'miss', meaning: 'a call that quotes text which only a masked result held' },
    ...(Object.values(total).some(({ savingWithRecalls }) => savingWithRecalls !== undefined)
      ? [{ word: 'with recalls', meaning: 'the same, if each miss costs one request that brings the text back' }]
      : []),
  ];
}

function priceMeaning({ name, read, write, lifeMs }: Prices): string {
  if (name === 'none') return 'a provider without a prompt cache: every token costs the same';
  const minutes = lifeMs / 60_000;
  const life = minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
  return `a cached token costs ${read} of the base price, a new one ${write}; unused, it is cached for ${life}`;
}
