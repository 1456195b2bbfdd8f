import type { Format } from '../message.ts';
import { createItemFormat, type Item } from './items.ts';

/** The input items of the Responses API. */
export const openaiResponses: Format<Item> = createItemFormat({
  name: 'openai-responses',
  callId: 'call_id',
  results: [
    'function_call_output',
    'custom_tool_call_output',
    'local_shell_call_output',
    'shell_call_output',
    'apply_patch_call_output',
    'computer_call_output',
  ],
});
