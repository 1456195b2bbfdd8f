import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as AI SDK 6 and 7 take it. */
export interface AiSdkRecallTool {
  /** The text that tells the model when to call it. */
  readonly description: string;
  /** The arguments, as a Standard Schema with a JSON schema. */
  readonly inputSchema: RecallSchema;
  /** Answers a call. */
  execute(input: RecallInput): Promise<string | TextWithImages>;
  /** Turns an answer into parts of a message. */
  toModelOutput(result: { readonly output: string | TextWithImages }): RecallOutput;
}

/** A Standard Schema with a JSON schema, which needs no import of the SDK. */
interface RecallSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'palimpsest';
    readonly validate: (value: unknown) => { readonly value: RecallInput };
    readonly jsonSchema: { input(options: unknown): RecallParameters; output(options: unknown): RecallParameters };
  };
}

type RecallOutput = { type: 'text'; value: string } | { type: 'content'; value: (TextPart | ImagePart)[] };
type TextPart = { type: 'text'; text: string };
type ImagePart = { type: 'image-data'; data: string; mediaType: string };

export function toAiSdkTool(store: Store): AiSdkRecallTool {
  const { description, parameters, execute } = recallTool(store);
  return {
    description,
    // `execute` checks the input, and its errors are written for a model.
    inputSchema: {
      '~standard': {
        version: 1,
        vendor: 'palimpsest',
        validate: (value) => ({ value: value as RecallInput }),
        jsonSchema: { input: () => parameters, output: () => parameters },
      },
    },
    execute,
    toModelOutput: ({ output }) => toOutput(output),
  };
}

function toOutput(answer: string | TextWithImages): RecallOutput {
  if (typeof answer === 'string') return { type: 'text', value: answer };
  const images = answer.images.map(
    ({ data, mimeType }): ImagePart => ({ type: 'image-data', data, mediaType: mimeType }),
  );
  return { type: 'content', value: [{ type: 'text', text: answer.text }, ...images] };
}
