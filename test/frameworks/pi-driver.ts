import { Agent, type AgentMessage, type AgentTool } from '@earendil-works/pi-agent-core';
import {
  type AssistantMessage,
  createModels,
  fauxAssistantMessage,
  fauxProvider,
  fauxText,
  fauxThinking,
  fauxToolCall,
  type JsonObject,
  type Model,
  type Models,
} from '@earendil-works/pi-ai';
import { type PiTransformContext, palimpsest } from '../../src/adapters/pi/index.ts';
import { pi } from '../../src/formats/pi.ts';
import type { AdapterDriver, ScriptedReply, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';

/** `transformContext` is not told which agent calls, so each agent gets its own. */
type Made = (session: string | undefined) => PiTransformContext;

export const piDriver: AdapterDriver<Made> = {
  name: 'pi',
  format: pi,
  make(options) {
    const transformContext = palimpsest(options);
    return (session) => (session === undefined ? transformContext : palimpsest({ ...options, session }));
  },
  async run({ adapter, history, prompt, store, session, signal, ...run }) {
    const { models, model } = scriptedModel(run);
    const agent = new Agent({
      initialState: {
        systemPrompt: 'You work on files.',
        model,
        tools: [...run.tools.map(toPiTool), ...(store ? palimpsest.tools({ store }) : [])],
        messages: history as AgentMessage[],
      },
      streamFn: models.streamSimple.bind(models),
      transformContext: adapter(session),
    });
    const abort = () => agent.abort();
    (signal as AbortSignal | undefined)?.addEventListener('abort', abort);
    await agent.prompt(prompt);
    const { errorMessage, messages } = agent.state;
    if (errorMessage !== undefined) throw new Error(errorMessage);
    return messages;
  },
};

/** pi's own scripted provider. */
export function scriptedModel(run: Pick<ScriptedRun, 'model'>): { models: Models; model: Model<string> } {
  const faux = fauxProvider({ models: [{ id: 'scripted-model', input: ['text', 'image'] }] });
  const answer = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): AssistantMessage => {
    faux.appendResponses([answer]);
    const tools = messages.flatMap((message) => (message as { toolsAdded?: { name: string }[] }).toolsAdded ?? []);
    return toMessage(run.model({ messages, tools: tools.map(({ name }) => name) }));
  };
  faux.setResponses([answer]);
  const models = createModels();
  models.setProvider(faux.provider);
  return { models, model: faux.getModel() };
}

function toMessage({ text, reasoning, calls = [] }: ScriptedReply): AssistantMessage {
  const content = [
    ...(reasoning ? [{ ...fauxThinking(reasoning.text), thinkingSignature: reasoning.signature }] : []),
    ...(text ? [fauxText(text)] : []),
    ...calls.map(({ id, tool, input }) => fauxToolCall(tool, input as JsonObject, { id })),
  ];
  return fauxAssistantMessage(content, { stopReason: calls.length > 0 ? 'toolUse' : 'stop' });
}

function toPiTool({ execute, ...tool }: ScriptedTool): AgentTool {
  return {
    ...tool,
    label: tool.name,
    execute: async (_id, input) => {
      const output = execute(input as { path: string });
      const part =
        typeof output === 'string'
          ? { type: 'text' as const, text: output }
          : { type: 'image' as const, data: output.data, mimeType: output.mediaType };
      return { content: [part], details: undefined };
    },
  };
}
