import type { RecallInput } from '../../store/recall-tool/recall-input.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';
import { type AiSdkRecallTool, toAiSdkTool } from '../ai-sdk/recall-tool.ts';

/** The tool `recall` as Mastra takes it, like a tool of `createTool`. */
export interface MastraRecallTool extends Pick<AiSdkRecallTool, 'description' | 'inputSchema'> {
  /** The name by which the model calls it. */
  readonly id: 'recall';
  /** Answers a call. */
  execute(input: RecallInput): Promise<string | TextWithImages>;
  /** Turns an answer into parts of a message. */
  toModelOutput(output: string | TextWithImages): unknown;
}

export function toMastraTool(store: Store): MastraRecallTool {
  const { description, inputSchema, execute, toModelOutput } = toAiSdkTool(store);
  return { id: 'recall', description, inputSchema, execute, toModelOutput: (output) => toModelOutput({ output }) };
}
