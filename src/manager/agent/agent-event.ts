import type { RenderReport } from '../budget/render-with-budget.ts';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import type { Usage } from '../usage.ts';

/** The events of a run, as they happen. */
export type AgentEvent =
  /** A request goes out: the first has the number 1. */
  | { readonly type: 'request'; readonly iteration: number; readonly messages: number; readonly report: RenderReport }
  /** The model has answered: its words, its calls, and the tokens that the provider counted. */
  | { readonly type: 'reply'; readonly text: string; readonly calls: readonly ToolCall[]; readonly usage?: Usage }
  /** A tool is about to run. */
  | { readonly type: 'call'; readonly call: ToolCall }
  /** A tool has answered or failed, or its call was refused. */
  | { readonly type: 'result'; readonly result: ToolResult }
  /** The run stops until a person has decided about these calls. */
  | { readonly type: 'approval-required'; readonly calls: readonly ToolCall[] }
  /** A message of `steering` goes out with the next request. */
  | { readonly type: 'steered'; readonly text: string }
  /** Results were masked now and in all so far, and the share of the window that this freed, in percent. */
  | { readonly type: 'masked'; readonly masked: number; readonly total: number; readonly reclaimedPct: number }
  /** The window is nearly full: the model is told to save its state. `usagePct` is the share in use, in percent. */
  | { readonly type: 'wind-down'; readonly usagePct: number }
  /** The session goes on with an empty window, under this number. */
  | { readonly type: 'restarted'; readonly number: number }
  /** The provider refused a request as too large: a smaller one follows. */
  | { readonly type: 'overflow'; readonly said: string };
