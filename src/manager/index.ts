export type { Cut, CutStep } from '../plan/held-cut.ts';
export type { Truncation } from '../plan/policy.ts';
export { recallTool } from '../store/recall-tool/recall-tool.ts';
export { actorMessageLimit } from './actor-message-limit.ts';
export type { AgentContext } from './agent-context.ts';
export type { AgentEvent } from './agent-event.ts';
export type { Approve, Decision } from './approvals.ts';
export { Calibration, type Learned } from './calibration.ts';
export { type CarryoverOptions, extractCarryover } from './carryover.ts';
export { agentOptionsOf, policyOf, sessionOptionsOf, storeOptionsOf, sweepOptionsOf } from './config/config-options.ts';
export type { Config } from './config/config-schema.ts';
export { type CheckedConfig, type ConfigProblem, checkConfig, loadConfig, readConfig } from './config/read-config.ts';
export type { ContextAction, MaskOptions, MaskResult, Preflight, Restart } from './context-action.ts';
export { type ContextGauge, contextGauge } from './context-gauge.ts';
export { ContextManager } from './context-manager.ts';
export type { Beside, ContextManagerOptions, ContextSource, ManagerState } from './context-manager-options.ts';
export type { EffectiveLimit, Threshold } from './effective-limit.ts';
export type { EpochGoal, ForcedEpoch } from './force-epoch.ts';
export { type LoopBudgetOptions, loopBudget } from './loop-budget.ts';
export { createMemorySession, type MemorySessionOptions } from './memory-session.ts';
export type { Model, ModelRequest, Reply, Stop, ToolDefinition } from './model.ts';
export { sessionContinuity } from './notices.ts';
export { openSession } from './open-session.ts';
export { isOverflow } from './overflow.ts';
export { type Rendered, type RenderOptions, type RenderReport, renderWithBudget } from './render-with-budget.ts';
export {
  type AgentOptions,
  type AgentResult,
  type AgentStatus,
  type ResumeOptions,
  resumeAgent,
  runAgent,
} from './run-agent.ts';
export { deleteSession } from './session/delete-session.ts';
export type { SessionPlaceOptions } from './session/find-place.ts';
export { listSessions, type SessionInfo } from './session/list-sessions.ts';
export type { SessionDatabase, SessionDatabaseOptions } from './session/postgres/session-database.ts';
export { readSessionEvents } from './session/read-session-events.ts';
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
export { createSteering, type Steering, type SteeringQueue } from './steering.ts';
export type { ToolCall, ToolResult } from './tool-call.ts';
export { defineTool, type StandardSchema, type Tool, type ToolContext } from './tools.ts';
export { type Trimmed, type TrimOptions, trimMessages } from './trim-messages.ts';
export { readUsage, type Usage } from './usage.ts';
