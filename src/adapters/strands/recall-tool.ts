import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as the function `tool` of Strands takes it. */
export interface StrandsRecallConfig {
  name: 'recall';
  description: string;
  inputSchema: RecallParameters;
  callback(input: unknown): Promise<string | RecallBlock[]>;
}

/** Blocks of a result as data, of which Strands makes its own. */
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
