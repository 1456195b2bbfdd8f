import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as the function `tool` of Strands takes it. */
export interface StrandsRecallConfig {
  /** The name by which the model calls it. */
  name: 'recall';
  /** The text that tells the model when to call it. */
  description: string;
  /** The JSON schema of the arguments. */
  inputSchema: RecallParameters;
  /** Answers a call. */
  callback(input: unknown): Promise<string | RecallBlock[]>;
}

/** Blocks of a result as data. Strands converts them to its own. */
type RecallBlock = { text: string } | { image: { format: string; source: { bytes: string } } };

export function toToolConfig(store: Store): StrandsRecallConfig {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    name,
    description,
    inputSchema: parameters,
    callback: async (input) => toBlocks(await execute(input as RecallInput)),
  };
}

function toBlocks(answer: string | TextWithImages): string | RecallBlock[] {
  if (typeof answer === 'string') return answer;
  const images = answer.images.map(({ data, mimeType }) => ({
    image: { format: mimeType.replace('image/', ''), source: { bytes: data } },
  }));
  return [{ text: answer.text }, ...images];
}
