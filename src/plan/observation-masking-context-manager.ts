import { chat } from '../formats/chat.ts';
import type { ChatMessage } from '../message.ts';
import { checkOptions, count, text } from '../options.ts';
import { allParts } from './parts/all-parts.ts';
import { Planner } from './planner.ts';
import { OMITTED, slidingWindow } from './policies/sliding-window.ts';

/** Options of `ObservationMaskingContextManager`. */
export interface ObservationMaskingOptions {
  /** How many of the last turns stay whole. @default 10 */
  readonly windowSize?: number;
  /** The words in place of a masked observation. @default the paper's */
  readonly placeholder?: string;
}

/** The savings so far, in estimated tokens. */
export interface TokenSavings {
  /** The size of all observations. */
  readonly totalObservationTokens: number;
  /** Turns whose observation is masked. */
  readonly maskedTurns: number;
  /** Turns whose observation is shown. */
  readonly visibleTurns: number;
  /** The tokens that masks save. */
  readonly estimatedSavedTokens: number;
  /** The same as a share of all observations. */
  readonly reductionPercent: number;
}

/** The observation-masking paper's manager, in its shape: turns go in, one masked text comes out. */
export class ObservationMaskingContextManager {
  readonly #planner: Planner<ChatMessage>;
  #turns = 0;

  constructor(options: ObservationMaskingOptions = {}) {
    checkOptions('ObservationMaskingContextManager', options, { windowSize: count, placeholder: text });
    const { windowSize = 10, placeholder = OMITTED } = options;
    const policy = slidingWindow({ turns: windowSize, minTokens: 0, placeholder });
    this.#planner = new Planner(chat, { policy, parts: allParts });
  }

  /** Adds one turn: the words of the model, its action, and the observation. */
  addTurn(reasoning: string, action: string, observation: string): void {
    const id = `turn ${++this.#turns}`;
    const toolCalls = [{ id, name: 'action', arguments: action }];
    this.#planner.add(
      { role: 'assistant', content: reasoning, toolCalls },
      { role: 'tool', content: observation, toolCallId: id },
    );
  }

  /** The prompts and all turns as one text, with old observations masked. */
  getMaskedContext(systemPrompt: string, userPrompt: string): string {
    const messages = this.#planner.messages();
    const parts = [systemPrompt, userPrompt];
    for (let turn = 1; turn <= this.#turns; turn++) {
      const [reply, result] = messages.slice(2 * turn - 2, 2 * turn);
      const action = reply?.toolCalls?.[0]?.arguments ?? '';
      parts.push(`\nTurn ${turn}:\nReasoning: ${reply?.content}\nAction: ${action}\nObservation: ${result?.content}\n`);
    }
    return parts.join('\n');
  }

  /** The savings of the masks so far. */
  estimateTokenSavings(): TokenSavings {
    const { byKind, maskedCount } = this.#planner.report();
    const { before, after } = byKind.observation;
    const saved = before.tokens - after.tokens;
    return {
      totalObservationTokens: before.tokens,
      maskedTurns: maskedCount,
      visibleTurns: this.#turns - maskedCount,
      estimatedSavedTokens: saved,
      reductionPercent: before.tokens === 0 ? 0 : (saved / before.tokens) * 100,
    };
  }
}
