import { PalimpsestError } from '../../errors.ts';
import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as an agent takes it: a function tool, as `tool()` of the SDK makes them. */
export interface OpenAIAgentsRecallTool {
  /** A tool that the client runs. */
  readonly type: 'function';
  /** The name by which the model calls it. */
  readonly name: 'recall';
  /** The text that tells the model when to call it. */
  readonly description: string;
  /** The JSON schema of the arguments. */
  readonly parameters: RecallParameters;
  /** Not in strict mode, because most arguments are optional. */
  readonly strict: false;
  /** Answers a call. An error is a text for the model. */
  invoke(runContext: unknown, input: string): Promise<string | RecallPart[]>;
  /** Always false: recalling changes nothing. */
  needsApproval(): Promise<boolean>;
  /** Always true. */
  isEnabled(): Promise<boolean>;
}

type RecallPart =
  | { type: 'text'; text: string }
  | { type: 'image'; image: { readonly data: string; readonly mediaType: string } };

export function toAgentsTool(store: Store): OpenAIAgentsRecallTool {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    type: 'function',
    name,
    description,
    parameters,
    // A strict tool has no optional arguments.
    strict: false,
    async invoke(_runContext, input) {
      try {
        return toOutput(await execute(parse(input)));
      } catch (error) {
        // The SDK ends the run if `invoke` throws. These messages are written for a model.
        return `Error: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
    needsApproval: async () => false,
    isEnabled: async () => true,
  };
}

function parse(input: string): RecallInput {
  try {
    return JSON.parse(input);
  } catch {
    throw new PalimpsestError('BAD_INPUT', `Expected arguments in JSON but found ${input.slice(0, 200)}`);
  }
}

function toOutput(answer: string | TextWithImages): string | RecallPart[] {
  if (typeof answer === 'string') return answer;
  const images = answer.images.map(
    ({ data, mimeType }): RecallPart => ({ type: 'image', image: { data, mediaType: mimeType } }),
  );
  return [{ type: 'text', text: answer.text }, ...images];
}
