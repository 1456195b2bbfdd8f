import type { ReplayPage } from '../../src/lab/replay-result.ts';
import type { Choice } from './model.ts';

/** The properties of each part of the page. */
export interface View {
  readonly page: ReplayPage;
  /** The names of the runs, in their order. */
  readonly names: readonly string[];
  /** By policy. */
  readonly colours: ReadonlyMap<string, string>;
  readonly choice: Choice;
  readonly choose: (part: Partial<Choice>) => void;
}
