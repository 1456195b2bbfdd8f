import type { RecallInput } from '../../store/recall-tool/recall-input.ts';
import { type RecallTool, recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';

/** The tool `recall` as a `CallableTool` of genai. */
export interface GenAiRecallTool {
  /** The declaration that goes into the request. */
  tool(): Promise<{ functionDeclarations: FunctionDeclaration[] }>;
  /** Answers the calls of one reply. An error is an answer too. */
  callTool(calls: readonly FunctionCall[]): Promise<FunctionResponsePart[]>;
}

interface FunctionDeclaration {
  name: string;
  description: string;
  parametersJsonSchema: unknown;
}

interface FunctionCall {
  readonly id?: string;
  readonly name?: string;
  readonly args?: Record<string, unknown>;
}

interface FunctionResponsePart {
  functionResponse: {
    id?: string;
    name: string;
    response: Record<string, unknown>;
    parts?: { inlineData: { mimeType: string; data: string } }[];
  };
}

export function toGenAiTool(store: Store): GenAiRecallTool {
  const recall = recallTool(store);
  const { name, description, parameters } = recall;
  return {
    // The SDK changes declarations in place: each request gets its own.
    tool: async () => ({ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }),
    // The SDK passes every call to every tool.
    callTool: (calls) => Promise.all(calls.filter((call) => call.name === name).map((call) => answer(recall, call))),
  };
}

/** An error becomes an answer: if it were thrown, the SDK would abandon the whole request. */
async function answer({ name, execute }: RecallTool, { id, args }: FunctionCall): Promise<FunctionResponsePart> {
  const about = { ...(id === undefined ? {} : { id }), name };
  try {
    const found = await execute(args as unknown as RecallInput);
    if (typeof found === 'string') return { functionResponse: { ...about, response: { output: found } } };
    const parts = found.images.map(({ data, mimeType }) => ({ inlineData: { mimeType, data } }));
    return { functionResponse: { ...about, response: { output: found.text }, parts } };
  } catch (error) {
    return { functionResponse: { ...about, response: { error: (error as Error).message } } };
  }
}

/** The tool `recall` as options of ADK's `FunctionTool`. */
export interface AdkRecallOptions {
  /** The name by which the model calls it. */
  readonly name: string;
  /** The text that tells the model when to call it. */
  readonly description: string;
  /** A JSON schema. The types of ADK know only this field. */
  readonly parameters: { readonly description: string };
  /** Answers a call with a text. Images are left out. */
  execute(input: unknown): Promise<string>;
}

export function toAdkOptions(store: Store): AdkRecallOptions {
  const { name, description, parameters, execute } = recallTool(store);
  return {
    name,
    description,
    // `@google/genai` sends a schema with `$schema` as JSON schema, and any other as one of OpenAPI.
    parameters: { ...parameters, description: 'Which result, and the part of it that is needed.', $schema: DRAFT },
    // Results are JSON in ADK, without images.
    execute: async (input) => {
      const found = await execute(input as RecallInput);
      return typeof found === 'string' ? found : found.text;
    },
  } as AdkRecallOptions;
}

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';
