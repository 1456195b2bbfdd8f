export type { Cut, CutStep } from '../plan/held-cut.ts';
export type { Truncation } from '../plan/policy.ts';
export { recallTool } from '../store/recall-tool/recall-tool.ts';
export type { AgentContext } from './agent/agent-context.ts';
export type { AgentEvent } from './agent/agent-event.ts';
export type { Approve, Decision } from './agent/approvals.ts';
export type { Model, ModelRequest, Reply, Stop, ToolDefinition } from './agent/model.ts';
export { isOverflow } from './agent/overflow.ts';
export {
  type AgentOptions,
  type AgentResult,
  type AgentStatus,
  type ResumeOptions,
  resumeAgent,
  runAgent,
} from './agent/run-agent.ts';
export { createSteering, type Steering, type SteeringQueue } from './agent/steering.ts';
export { defineTool, type StandardSchema, type Tool, type ToolContext } from './agent/tools.ts';
export { actorMessageLimit } from './budget/actor-message-limit.ts';
export type { EffectiveLimit, Threshold } from './budget/effective-limit.ts';
export { type LoopBudgetOptions, loopBudget } from './budget/loop-budget.ts';
export { type Rendered, type RenderOptions, type RenderReport, renderWithBudget } from './budget/render-with-budget.ts';
export { type Trimmed, type TrimOptions, trimMessages } from './budget/trim-messages.ts';
export { agentOptionsOf, policyOf, sessionOptionsOf, storeOptionsOf, sweepOptionsOf } from './config/config-options.ts';
export type { Config } from './config/config-schema.ts';
export { type CheckedConfig, type ConfigProblem, checkConfig, loadConfig, readConfig } from './config/read-config.ts';
export { Calibration, type Learned } from './context/calibration.ts';
export { type CarryoverOptions, extractCarryover } from './context/carryover.ts';
export type { ContextAction, MaskOptions, MaskResult, Preflight, Restart } from './context/context-action.ts';
export { type ContextGauge, contextGauge } from './context/context-gauge.ts';
export { ContextManager } from './context/context-manager.ts';
export type {
  ContextManagerOptions,
  ContextSource,
  ManagerState,
  Overhead,
} from './context/context-manager-options.ts';
export type { EpochGoal, ForcedEpoch } from './context/force-epoch.ts';
export { sessionContinuity } from './context/notices.ts';
export { deleteSession } from './session/delete-session.ts';
export type { SessionPlaceOptions } from './session/find-place.ts';
export { listSessions, type SessionInfo } from './session/list-sessions.ts';
export { createMemorySession, type MemorySessionOptions } from './session/memory-session.ts';
export { openSession } from './session/open-session.ts';
export type { SessionDatabase, SessionDatabaseOptions } from './session/postgres/session-database.ts';
export { type ReadSessionOptions, readSessionEvents } from './session/read-session-events.ts';
export type {
  EventOptions,
  LoggedEvent,
  MaskReport,
  Recovery,
  Session,
  SessionEvent,
  SessionOptions,
  SessionStatus,
} from './session/session.ts';
export { type SweepOptions, type Swept, sweepSessions } from './session/sweep-sessions.ts';
export type { ToolCall, ToolResult } from './tool-call.ts';
export { readUsage, type Usage } from './usage.ts';
