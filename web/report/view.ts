import type { ReplayPage } from '../../src/lab/replay-result.ts';
import type { Choice } from './model.ts';

/** What each part of the page is given. */
export interface View {
  readonly page: ReplayPage;
  /** Of the runs, in their order. */
  readonly names: readonly string[];
  /** By policy. */
  readonly colours: ReadonlyMap<string, string>;
  readonly choice: Choice;
  readonly choose: (part: Partial<Choice>) => void;
}
