import { PalimpsestError } from '../../errors.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { effectiveLimit, limitForBudget } from '../budget/effective-limit.ts';
import type { Rendered, RenderOptions } from '../budget/render-with-budget.ts';
import { sizeOfMessages } from '../budget/sizes.ts';
import type { MaskOptions } from '../context/context-action.ts';
import { windDownNotice } from '../context/notices.ts';
import { messageWriter } from '../message-writer.ts';
import type { AgentContext } from './agent-context.ts';
import type { AgentEvent } from './agent-event.ts';

interface BudgetOptions<M> {
  readonly context: AgentContext<M>;
  readonly maxInputTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly autoRestart?: boolean | undefined;
  readonly emit: (event: AgentEvent) => void;
}

/** The estimated size of the last request, its budget, and the number of messages in the view at that time. */
interface Sent {
  readonly requestTokens: number;
  readonly budgetTokens: number;
  readonly viewLength: number;
}

const NOTHING_SENT: Sent = { requestTokens: 0, budgetTokens: Number.POSITIVE_INFINITY, viewLength: 0 };

/** A refused request is sent again at this share of its size. */
const REDUCED = 0.7;

/** Keeps the requests of one run within their budget: renders them, and makes room for the next. */
export class RequestBudget<M> {
  readonly #options: BudgetOptions<M>;
  readonly #context: AgentContext<M>;
  /** The limit of a request. It becomes smaller when a provider refuses a request. */
  #windowTokens: number;
  #sent: Sent = NOTHING_SENT;
  #isWindingDown = false;
  /** Turns were left out since the wind-down, so free room does not mean that the conversation is small. */
  #hasCut = false;
  restarts = 0;

  constructor(options: BudgetOptions<M>) {
    this.#options = options;
    this.#context = options.context;
    this.#context.manager.limitTo(options);
    this.#windowTokens = this.#context.manager.contextLimit;
  }

  /** The next request. */
  async render(about: Pick<RenderOptions<M>, 'system' | 'tools' | 'maxHistoryTokens'>): Promise<Rendered<M>> {
    const maxOutputTokens = this.#context.manager.limit.outputTokens;
    const window = this.#windowTokens;
    const rendered = await this.#context.render({ ...about, maxOutputTokens, window });
    const { requestTokens } = rendered.report;
    const { budgetTokens } = effectiveLimit({ maxInputTokens: window, maxOutputTokens });
    this.#sent = { requestTokens, budgetTokens, viewLength: this.#context.view().length };
    if (rendered.report.decision === 'cut') this.#hasCut = true;
    return rendered;
  }

  /** Masks what it can and makes the next request smaller than the refused one. */
  async reduce({ report }: Rendered<M>): Promise<void> {
    await this.#mask();
    const { requestTokens, outputTokens } = report;
    this.#windowTokens = Math.max(1, limitForBudget(REDUCED * requestTokens, outputTokens));
  }

  /** Carries out the manager's decision, so that the next request fits. Answers why the run must end, if it must. */
  async makeRoom(): Promise<string | undefined> {
    const { manager } = this.#context;
    this.#calmDown();
    // Masks inside the policy's window before the model must wrap up: a restart would cost the conversation.
    if (manager.isHard) await this.#mask(undefined, { insideWindow: true });
    let action = manager.evaluate();
    if (action.type === 'mask') {
      await this.#mask(action.count);
      action = manager.isHard ? manager.evaluate() : { type: 'continue' };
    }
    if (action.type === 'context-full') return action.because;
    if (action.type === 'restart' && !(await this.#restart())) return 'autoRestart is off';
    if (action.type === 'wind-down') await this.#wrapUp(action.notice);
    if (action.type === 'continue') await this.#relieve();
    return undefined;
  }

  #calmDown(): void {
    const { softThreshold, hardThreshold } = this.#context.manager;
    const isCalm = this.#sent.requestTokens / this.#sent.budgetTokens < softThreshold / hardThreshold;
    if (isCalm && !this.#hasCut) this.#isWindingDown = false;
  }

  /**
   * A provider's count does not include the results since the last request. If these do not fit, the oldest iterations would
   * have to go. Before that: masks; if that is not enough, winds down; the second time, restarts.
   */
  async #relieve(): Promise<void> {
    if (!this.#wouldOverflow()) return;
    await this.#mask();
    // No decision of the agent goes while a result could be masked.
    if (this.#wouldOverflow()) await this.#mask(undefined, { insideWindow: true });
    if (!this.#wouldOverflow()) return;
    await this.#wrapUp(windDownNotice(this.#nextPct()));
  }

  /** Tells the model the first time. Restarts the session the second time. If it may not restart, turns are left out. */
  async #wrapUp(notice: string): Promise<void> {
    if (this.#isWindingDown) await this.#restart();
    else await this.#windDown(notice);
  }

  #wouldOverflow(): boolean {
    return this.#nextTokens() > this.#sent.budgetTokens;
  }

  /** The estimated size of the last request and of the messages since. */
  #nextTokens(): number {
    const { requestTokens, viewLength } = this.#sent;
    const added = this.#context.view().slice(viewLength);
    return requestTokens + sizeOfMessages(added, this.#context.format, countTokens);
  }

  #nextPct(): number {
    return Math.min(100, (100 * this.#nextTokens()) / this.#windowTokens);
  }

  async #mask(count?: number, options?: MaskOptions): Promise<void> {
    const { masked, total, reclaimedPct, notice } = await this.#context.mask(count, options);
    if (masked === 0) return;
    const saved = (reclaimedPct / 100) * this.#context.manager.contextLimit;
    this.#sent = { ...this.#sent, requestTokens: Math.max(0, this.#sent.requestTokens - saved) };
    if (notice !== undefined) await this.#context.add(messageWriter(this.#context.format).notice(notice));
    this.#options.emit({ type: 'masked', masked, total, reclaimedPct });
  }

  async #windDown(notice: string): Promise<void> {
    this.#isWindingDown = true;
    this.#hasCut = false;
    this.#options.emit({ type: 'wind-down', usagePct: this.#nextPct() });
    await this.#context.add(messageWriter(this.#context.format).notice(notice));
    await this.#context.windDown();
  }

  /** Answers whether the session was restarted. */
  async #restart(): Promise<boolean> {
    if (this.#options.autoRestart === false) return false;
    try {
      await this.#context.restart('hard_threshold_exceeded');
    } catch (error) {
      if (error instanceof PalimpsestError && error.code === 'RESTART_LIMIT') return false;
      throw error;
    }
    this.restarts += 1;
    this.#isWindingDown = false;
    this.#sent = NOTHING_SENT;
    this.#options.emit({ type: 'restarted', number: this.#context.number });
    return true;
  }
}
