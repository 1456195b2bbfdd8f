import { conversationFacts } from './session/conversation-facts.ts';
import { manySessionsFacts } from './session/many-sessions-facts.ts';
import { openingFacts } from './session/opening-facts.ts';
import { recoveryFacts } from './session/recovery-facts.ts';
import { sentFacts } from './session/sent-facts.ts';
import { createSuite, type SessionConformanceOptions, type SessionTestFunctions } from './session/session-suite.ts';

export type { SessionConformanceOptions, SessionExpect, SessionTestFunctions } from './session/session-suite.ts';

/** The tests that sessions pass in every storage: `sessionConformance({ describe, it, expect }, { name: 'mine', … })`. */
export function sessionConformance(functions: SessionTestFunctions, options: SessionConformanceOptions): void {
  const suite = createSuite(functions, options);
  functions.describe(`sessions: ${options.name}`, () => {
    openingFacts(suite);
    conversationFacts(suite);
    manySessionsFacts(suite);
    sentFacts(suite);
    recoveryFacts(suite);
  });
}
