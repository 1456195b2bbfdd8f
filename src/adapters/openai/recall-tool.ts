import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` of Chat Completions, as `runTools` runs it. */
export interface OpenAIRecallTool {
  /** A tool that the client runs. */
  type: 'function';
  /** The declaration, and the functions that run it. */
  function: {
    name: 'recall';
    description: string;
    parameters: RecallParameters;
    /** Reads the arguments of a call. Errors reach the model. */
    parse(args: string): RecallInput;
    /** Answers a call. An error becomes a text for the model: `runTools` would stop at a thrown one. */
    function(input: RecallInput): Promise<string>;
  };
}

/** The tool `recall` of Responses, as `ResponsesToolRunner` takes functions. */
export interface OpenAIRecallFunction {
  /** The declaration that goes into `tools`. */
  tool: { type: 'function'; name: 'recall'; description: string; parameters: RecallParameters; strict: false };
  /** Answers a call with the output of its item. An error is a text for the model. */
  execute(input: Record<string, unknown>): Promise<string | (TextPart | ImagePart)[]>;
}

type TextPart = { type: 'input_text'; text: string };
type ImagePart = { type: 'input_image'; image_url: string; detail: 'auto' };

export function toChatTool(store: Store): OpenAIRecallTool {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    type: 'function',
    function: {
      ...{ name, description, parameters },
      parse: (args) => JSON.parse(args) as RecallInput,
      function: async (input) => textOf(await execute(input).catch(toText)),
    },
  };
}

export function toResponsesFunction(store: Store): OpenAIRecallFunction {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    tool: { type: 'function', name, description, parameters, strict: false },
    execute: async (input) => toOutput(await execute(input as unknown as RecallInput).catch(toText)),
  };
}

const toText = (error: unknown): string => `Error: ${error instanceof Error ? error.message : String(error)}`;

/** Results of Chat Completions are texts. The text says where images were. */
const textOf = (answer: string | TextWithImages): string => (typeof answer === 'string' ? answer : answer.text);

function toOutput(answer: string | TextWithImages): string | (TextPart | ImagePart)[] {
  if (typeof answer === 'string') return answer;
  const images = answer.images.map(
    ({ data, mimeType }): ImagePart => ({
      type: 'input_image',
      image_url: `data:${mimeType};base64,${data}`,
      detail: 'auto',
    }),
  );
  return [{ type: 'input_text', text: answer.text }, ...images];
}
