import { type Fields, lines, type SampleLog } from './sample-log.ts';

export function copilotLogs(): SampleLog[] {
  const event = (type: string, data: Fields, more: Fields = {}): Fields => ({
    ...{ type, data, id: 'e', parentId: null, timestamp: '2026-01-02T03:04:05.000Z' },
    ...more,
  });
  const request = (toolCallId: string): Fields => ({ toolCallId, name: 'view', arguments: { path: toolCallId } });
  const says = (messageId: string, content: string, ...toolRequests: Fields[]): Fields =>
    event('assistant.message', { messageId, content, toolRequests });
  const done = (toolCallId: string, more: Fields): Fields =>
    event('tool.execution_complete', { toolCallId, success: true, ...more });
  const side = { agentId: 'a' };
  return [
    {
      name: 'Copilot: a subagent, a call that is logged when it runs, and a compaction',
      format: 'copilot',
      isLines: true,
      text: lines(
        event('session.start', { sessionId: 's', version: 1, selectedModel: 'm' }),
        event('system.message', { content: 'Be kind.' }),
        event('user.message', { content: 'Fix it.', transformedContent: 'Now. Fix it.' }),
        event('assistant.turn_start', { turnId: '0' }),
        says('m1', 'I look.', request('c1'), request('c2')),
        event('tool.execution_start', { ...request('c1'), toolName: 'view' }),
        event('user.message', { content: 'Look.' }, side),
        event('assistant.message', { messageId: 's1', content: 'Seen.' }, side),
        done('c2', { error: { message: 'No.' } }),
        done('c1', { result: { content: 'one', detailedContent: 'one, but for people' } }),
        event('tool.execution_start', { toolCallId: 'c3', toolName: 'bash', arguments: {} }),
        done('c3', { output: 'three' }),
        event('session.compaction_complete', { success: false, error: 'No.' }),
        event('session.compaction_complete', { success: true, summaryContent: 'Summary.' }),
        says('m2', 'Done.'),
      ),
      runs: [0, 0, 1],
      contexts: [
        [
          'system: Be kind.',
          'user: Now. Fix it.',
          'assistant: I look. view c1 {"path":"c1"} view c2 {"path":"c2"}',
          'tool c2 view: No.',
          'tool c1 view: one',
          'assistant:  bash c3 {}',
          'tool c3 bash: three',
        ],
        ['system: Be kind.', 'user: Summary.', 'assistant: Done.'],
        ['user: Look.', 'assistant: Seen.'],
      ],
    },
    {
      name: 'Copilot: a subagent whose prompt has no mark, and calls that are logged only when they run',
      format: 'copilot',
      isLines: true,
      text: lines(
        event('session.start', { sessionId: 's' }),
        event('session.model_change', { newModel: 'auto' }),
        event('user.message', { content: 'Fix it.' }),
        event('assistant.message', { content: 'I ask.', model: 'm', toolRequests: [] }),
        event('tool.execution_start', { toolCallId: 'c1', toolName: 'task', arguments: { prompt: 'Look.' } }),
        event('subagent.started', { toolCallId: 'c1', model: 'small' }),
        event('user.message', { content: 'Look.' }),
        event('assistant.message', { content: '', toolRequests: [], parentToolCallId: 'c1' }),
        event('tool.execution_start', { ...request('c2'), toolName: 'view', parentToolCallId: 'c1' }),
        done('c2', { result: 'two', parentToolCallId: 'c1' }),
        event('assistant.message', { content: 'Seen.', toolRequests: [], parentToolCallId: 'c1' }),
        done('c1', { result: { content: 'Seen.' } }),
        event('user.message', { content: 'Look.' }, { agentId: 'main' }),
        event('assistant.message', { content: 'Done.', toolRequests: [] }),
      ),
      runs: [0, 1],
      contexts: [
        [
          'user: Fix it.',
          'assistant: I ask. task c1 {"prompt":"Look."}',
          'tool c1 task: Seen.',
          'user: Look.',
          'assistant: Done.',
        ],
        ['user: Look.', 'assistant:  view c2 {"path":"c2"}', 'tool c2 view: two', 'assistant: Seen.'],
      ],
    },
  ];
}
