import type { RenderReport } from './render-with-budget.ts';
import type { ToolCall, ToolResult } from './tool-call.ts';
import type { Usage } from './usage.ts';

/** The events of a run, as they happen. */
export type AgentEvent =
  /** A request goes out: the first has the number 1. */
  | { readonly type: 'request'; readonly iteration: number; readonly messages: number; readonly report: RenderReport }
  | { readonly type: 'reply'; readonly text: string; readonly calls: readonly ToolCall[]; readonly usage?: Usage }
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'result'; readonly result: ToolResult }
  | { readonly type: 'approval-required'; readonly calls: readonly ToolCall[] }
  | { readonly type: 'steered'; readonly text: string }
  | { readonly type: 'masked'; readonly masked: number; readonly total: number; readonly reclaimedPct: number }
  | { readonly type: 'wind-down'; readonly usagePct: number }
  | { readonly type: 'restarted'; readonly number: number }
  /** The provider refused a request as too large: a smaller one follows. */
  | { readonly type: 'overflow'; readonly said: string };
