import type { Format } from '../message.ts';
import { createItemFormat, type Item } from './items.ts';

/** The `AgentInputItem`s of the OpenAI Agents SDK. */
export const openaiAgents: Format<Item> = createItemFormat({
  name: 'openai-agents',
  callId: 'callId',
  results: ['function_call_result', 'computer_call_result', 'shell_call_output', 'apply_patch_call_output'],
});
