import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as pi takes it: an `AgentTool`, and a tool of an extension. */
export interface PiRecallTool {
  /** The name by which the model calls it. */
  readonly name: 'recall';
  /** The name that pi shows. */
  readonly label: string;
  /** The text that tells the model when to call it. */
  readonly description: string;
  /** The JSON schema of the arguments. */
  readonly parameters: RecallParameters;
  /** Checks its input, which a model wrote. */
  execute(toolCallId: string, input: unknown): Promise<PiRecallResult>;
}

interface PiRecallResult {
  content: ({ type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string })[];
  details: undefined;
}

export function toPiTool(store: Store): PiRecallTool {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    name,
    label: 'Recall',
    description,
    parameters,
    execute: async (_toolCallId, input) => toResult(await execute(input as RecallInput)),
  };
}

function toResult(answer: string | TextWithImages): PiRecallResult {
  const { text, images } = typeof answer === 'string' ? { text: answer, images: [] } : answer;
  const parts = images.map(({ data, mimeType }) => ({ type: 'image' as const, data, mimeType }));
  return { content: [{ type: 'text', text }, ...parts], details: undefined };
}
