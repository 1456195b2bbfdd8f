import { PalimpsestError } from '../../errors.ts';
import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as an agent takes it: a function tool, as `tool()` of the SDK makes them. */
export interface OpenAIAgentsRecallTool {
  readonly type: 'function';
  readonly name: 'recall';
  readonly description: string;
  readonly parameters: RecallParameters;
  readonly strict: false;
  invoke(runContext: unknown, input: string): Promise<string | RecallPart[]>;
  needsApproval(): Promise<boolean>;
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
        // The SDK ends the run where `invoke` throws. These messages are written for a model.
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
