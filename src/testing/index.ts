export { adapterConformance } from './adapter-conformance.ts';
export type {
  AdapterDriver,
  ScriptedCall,
  ScriptedImage,
  ScriptedReply,
  ScriptedRun,
  ScriptedTool,
  SentRequest,
} from './adapter-driver.ts';
export {
  type SessionConformanceOptions,
  type SessionExpect,
  type SessionTestFunctions,
  sessionConformance,
} from './session-conformance.ts';
export { type ConformanceOptions, type Expect, storeConformance, type TestFunctions } from './store-conformance.ts';
