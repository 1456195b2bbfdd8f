import { flat, formatNames, type Story, write } from './histories.ts';

/** Inputs for `fit` and `handleOf`. Every runtime must give the same answer to them. */
export interface CoreJob {
  readonly texts: readonly string[];
  readonly histories: readonly (readonly object[])[];
  readonly options: { readonly recall: true; readonly maxTokens: number };
}

/** Texts that runtimes encode and hash in different ways: empty, beyond ASCII, with lone surrogates, large. */
const TEXTS = ['', 'a', 'é', '漢字', '😀', '\ud800', 'a\udc00', 'x'.repeat(70_000), 'é'.repeat(70_000)];

/** One conversation in every format. */
export function coreJob({ turns, maxTokens }: { readonly turns: number; readonly maxTokens: number }): CoreJob {
  return {
    texts: TEXTS,
    histories: formatNames.map((name) => flat(write(storyOf(turns), name))),
    options: { recall: true, maxTokens },
  };
}

const storyOf = (turns: number): Story => ({
  system: 'You are an agent.',
  task: 'Find the bug — 漢字 😀.',
  greets: false,
  turns: Array.from({ length: turns }, (_, turn) => ({
    says: `Step ${turn}.`,
    thinks: 'no',
    calls: [
      {
        tool: 'read',
        args: { path: `src/${turn}.ts` },
        text: `${turn}: é \u0000 alpha\n`.repeat(80),
        isError: turn === 3,
        shape: 'string',
      },
    ],
    user: undefined,
    steersEarly: false,
  })),
});
