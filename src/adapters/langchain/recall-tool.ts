import { ToolMessage } from '@langchain/core/messages';
import { type StructuredToolInterface, type ToolRunnableConfig, tool } from '@langchain/core/tools';
import type { RecallInput, RecallParameters } from '../../store/recall-tool/recall-input.ts';
import { recallTool } from '../../store/recall-tool/recall-tool.ts';
import type { Store } from '../../store/store.ts';
import type { TextWithImages } from '../../store/stored-images.ts';

/** The tool `recall` as agents and models of LangChain take it. */
export type LangChainRecallTool = StructuredToolInterface<RecallParameters>;

/** Agents run instances of LangChain's own classes only, so this file imports them. */
export function toLangChainTool(store: Store): LangChainRecallTool {
  const { name, description, parameters, execute } = recallTool(store);
  const answer = async (input: unknown, { toolCall }: ToolRunnableConfig) => {
    try {
      return toContent(await execute(input as RecallInput));
    } catch (error) {
      const id = toolCall?.id;
      if (id === undefined) throw error;
      // A thrown error would end the run of an agent with a middleware that wraps tool calls, such as every deep agent.
      return new ToolMessage({ name, tool_call_id: id, status: 'error', content: String(error) });
    }
  };
  // LangChain checks arguments by the schema. Without this, it does not tell the model which one is wrong.
  return tool(answer, { name, description, schema: parameters, verboseParsingErrors: true });
}

type Content = string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } })[];

/** Images as data URLs, which the integrations of LangChain take. */
function toContent(answer: string | TextWithImages): Content {
  if (typeof answer === 'string') return answer;
  const images = answer.images.map(({ data, mimeType }) => ({
    type: 'image_url' as const,
    image_url: { url: `data:${mimeType};base64,${data}` },
  }));
  return [{ type: 'text', text: answer.text }, ...images];
}
