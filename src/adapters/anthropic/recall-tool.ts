import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall`, as `betaTool` makes tools. */
export interface AnthropicRecallTool {
  /** A tool that the client runs. */
  type: 'custom';
  /** The name by which the model calls it. */
  name: 'recall';
  /** The text that tells the model when to call it. */
  description: string;
  /** The JSON schema of the arguments. */
  input_schema: RecallParameters;
  /** Answers a call. The tool runner reports errors to the model. */
  run(input: RecallInput): Promise<string | (TextBlock | ImageBlock)[]>;
  /** Reads the arguments of a call. */
  parse(content: unknown): RecallInput;
}

type TextBlock = { type: 'text'; text: string };
type ImageBlock = { type: 'image'; source: { type: 'base64'; media_type: ImageType; data: string } };
type ImageType = (typeof IMAGE_TYPES)[number];

/** The types of images that the API takes. */
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

export function toAnthropicTool(store: Store): AnthropicRecallTool {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    ...{ type: 'custom', name, description, input_schema: parameters },
    run: async (input) => toContent(await execute(input)),
    // `execute` checks the input, and its errors are written for a model.
    parse: (content) => content as RecallInput,
  };
}

function toContent(answer: string | TextWithImages): string | (TextBlock | ImageBlock)[] {
  if (typeof answer === 'string') return answer;
  const images = answer.images.flatMap(({ data, mimeType }): ImageBlock[] => {
    const type = IMAGE_TYPES.find((known) => known === mimeType);
    return type ? [{ type: 'image', source: { type: 'base64', media_type: type, data } }] : [];
  });
  return [{ type: 'text', text: answer.text }, ...images];
}
