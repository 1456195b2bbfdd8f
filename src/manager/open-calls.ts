import { OpenCalls } from '../formats/calls.ts';
import type { Format } from '../message.ts';
import type { ToolCall } from './dialect.ts';
import { readCall } from './model.ts';

/** The calls of a conversation that got no result yet. */
export function openCallsOf<M>(format: Format<M>, messages: readonly M[]): ToolCall[] {
  const open = new OpenCalls<ToolCall>();
  for (const { kind, callId, tool, text } of format.view(messages)) {
    if (callId === undefined) continue;
    if (kind === 'action') open.made(callId, readCall({ id: callId, name: tool ?? 'tool', arguments: text }));
    else if (kind === 'observation') open.answered(callId);
  }
  return open.all();
}
