import { describe, expect, it } from 'vitest';
import { prose, range, toolTurn, user } from '../test/support/chat.ts';
import { arrival, budget, type CoreFitOptions, fit as fitCore, oldTexts } from './core.ts';
import { chat } from './formats/index.ts';
import { breakEven, type ChatMessage, fit, hybrid, type Policy, slidingWindow } from './index.ts';

const messages: ChatMessage[] = [user('Fix it.'), ...range(1, 30).flatMap(turnOf)];
/** An edit now and then, among long results. */
function turnOf(i: number): ChatMessage[] {
  const args = { path: `src/${i}.ts`, old_string: prose(600, `old ${i}`), new_string: 'x' };
  return toolTurn({
    id: `c${i}`,
    output: prose(900, `${i}`),
    ...(i % 5 === 0 ? { tool: 'edit', args: JSON.stringify(args) } : {}),
  });
}

const parts = { arrival, budget, oldTexts };

/** The code and the text of the error that `fit` of `palimpsest/core` throws. */
function refusal(options: Omit<CoreFitOptions, 'format'>): string {
  try {
    fitCore(messages, { format: chat, ...options });
  } catch (error) {
    const { code, message } = error as Error & { code: string };
    return `${code}: ${message}`;
  }
  return 'no error';
}

describe('fit of palimpsest/core', () => {
  it('with all parts answers what fit answers', () => {
    const policies: Policy[] = [
      breakEven(),
      hybrid({ window: 3 }),
      slidingWindow({ turns: 3, oldTexts: true, clean: true }),
    ];
    for (const policy of policies)
      for (const maxTokens of [4000, 100_000]) {
        const small = fitCore(messages, { format: chat, policy, maxTokens, parts });
        const { plan, messages: fitted } = fit(messages, { format: chat, policy, maxTokens });
        expect(small.plan).toEqual(plan);
        expect(small.messages).toEqual(fitted);
      }
  });

  it('without parts answers what fit answers where no option needs one', () => {
    const policy = slidingWindow({ turns: 3, windowByKind: true });
    const small = fitCore(messages, { format: chat, policy });
    expect(small.messages).toEqual(fit(messages, { format: chat, policy }).messages);
    expect(small.report.maskedCount).toBeGreaterThan(10);
  });

  it.each<readonly [string, Omit<CoreFitOptions, 'format'>]>([
    ['budget', { policy: slidingWindow(), maxTokens: 1000 }],
    ['budget', { policy: slidingWindow(), model: 'gpt-5' }],
    ['budget', { policy: hybrid({ window: 3 }) }],
    [
      'budget',
      {
        policy: {
          init: () => 0,
          step: () => ({ state: 0, mask: [], summarize: 2, because: { act: 'mask', because: '' } }),
        },
      },
    ],
    ['arrival', { policy: breakEven() }],
    ['arrival', { policy: slidingWindow(), arrival: { clean: true } }],
    ['arrival', { policy: slidingWindow({ maxResultTokens: 500 }) }],
    ['oldTexts', { policy: slidingWindow({ oldTexts: true }) }],
  ])('names the part %s that an option needs and that is missing', (part, options) => {
    const { [part as keyof typeof parts]: _, ...others } = parts;
    for (const missing of [{}, { parts: others }])
      expect(refusal({ ...options, ...missing })).toMatch(
        new RegExp(`^BAD_OPTION: Expected the option parts to have ${part} `),
      );
    expect(refusal({ ...options, parts })).toBe('no error');
  });

  it('refuses a part that is none', () => {
    expect(refusal({ policy: slidingWindow(), parts: { budget: true as never } })).toMatch(
      /^BAD_OPTION: .*part of palimpsest\/core/,
    );
    expect(refusal({ policy: slidingWindow(), parts: { budgets: budget } as never })).toMatch(
      /^BAD_OPTION: .*did you mean budget/,
    );
  });

  it('plans only what is new where the parts are the same', () => {
    let steps = 0;
    const counted: Policy = {
      init: () => 0,
      step: () => ({ state: steps++, mask: [], because: { act: 'wait', because: '' } }),
    };
    const stepsOf = (list: readonly ChatMessage[], given: CoreFitOptions['parts']): number => {
      steps = 0;
      fitCore(list, { format: chat, policy: counted, ...(given ? { parts: given } : {}) });
      return steps;
    };
    const whole = stepsOf(messages, { budget });
    expect(whole).toBeGreaterThan(20);
    expect(stepsOf([...messages, user('Go on.')], { budget })).toBeLessThan(5);
    expect(stepsOf([...messages, user('Go on.')], undefined)).toBeGreaterThan(20);
  });
});
