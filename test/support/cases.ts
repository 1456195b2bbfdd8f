import fc from 'fast-check';
import type { FitOptions } from '../../src/index.ts';
import { type Story, story } from './histories.ts';
import { anyPolicy, type NamedPolicy } from './policies.ts';

export const settings = fc.record(
  {
    maxTokens: fc.integer({ min: 60, max: 9000 }),
    recall: fc.boolean(),
    system: fc.constant('A system prompt that stands apart.'),
    tools: fc.constantFrom([{ name: 'recall', description: 'Gives back what was masked.' }], [{ name: 'bash' }]),
    boundThinking: fc.constantFrom('opt-in' as const, 'keep' as const),
    counter: fc.constant((text: string) => Math.ceil(text.length / 3)),
  },
  { requiredKeys: [] },
);

/** A history, a policy and the options of `fit`. */
export interface Case {
  readonly story: Story;
  readonly named: NamedPolicy;
  readonly settings: Omit<FitOptions, 'policy' | 'format'>;
  readonly repeatIds: boolean;
}

export const anyCase: fc.Arbitrary<Case> = fc.record({ story, named: anyPolicy, settings, repeatIds: fc.boolean() });
