import { pretty, type SampleLog } from './sample-log.ts';

export function atifLogs(): SampleLog[] {
  const call = (id: string) => ({ tool_call_id: id, function_name: 'bash', arguments: { keystrokes: 'ls\n' } });
  const image = { type: 'image', source: { path: 'a.png' } };
  const steps = [
    { step_id: 1, source: 'system', message: 'Be kind.' },
    { step_id: 2, source: 'user', message: [{ type: 'text', text: 'Fix it.' }], is_copied_context: true },
    { step_id: 3, source: 'agent', message: 'So far, so good.', is_copied_context: true },
    {
      step_id: 4,
      timestamp: '2026-01-02T03:04:05.000Z',
      source: 'agent',
      message: 'I look.',
      reasoning_content: 'Hm.',
      tool_calls: [call('c1'), call('c2')],
      observation: {
        results: [
          { source_call_id: 'c2', content: 'two' },
          { source_call_id: 'c1', content: [{ type: 'text', text: 'one' }] },
        ],
      },
      metrics: { prompt_tokens: 9, completion_tokens: 2, cached_tokens: 4 },
    },
    {
      step_id: 5,
      source: 'agent',
      message: '',
      tool_calls: [call('c3')],
      observation: { results: [{ content: 'three' }, { content: [image] }, { content: [{ mail: 1 }] }] },
    },
    { step_id: 6, source: 'agent', message: 'Done.' },
  ];
  return [
    {
      name: 'ATIF: copied steps, and results with and without ids',
      format: 'atif',
      isLines: false,
      text: pretty({ schema_version: 'ATIF-v1.7', session_id: 's', agent: { name: 'a', model_name: 'm' }, steps }),
      carried: [1],
      contexts: [
        [
          'system: Be kind.',
          'user: Fix it.',
          'assistant: So far, so good.',
          'assistant: Hm.|I look. bash c1 {"keystrokes":"ls\\n"} bash c2 {"keystrokes":"ls\\n"}',
          'tool c2 bash: two',
          'tool c1 bash: one',
          'assistant:  bash c3 {"keystrokes":"ls\\n"}',
          'tool c3 bash: three',
          'tool -: ',
          'tool -: [{"mail":1}]',
          'assistant: Done.',
        ],
      ],
    },
    {
      name: 'ATIF: subagents inside',
      format: 'atif',
      isLines: false,
      text: pretty({
        ...{ schema_version: 'ATIF-v1.8', steps: [{ source: 'agent', message: 'Done.' }] },
        subagent_trajectories: [
          {
            ...{
              trajectory_id: 'a',
              steps: [
                { source: 'user', message: 'Look.' },
                { source: 'agent', message: 'Seen.' },
              ],
            },
            subagent_trajectories: [{ trajectory_id: 'b', steps: [{ source: 'agent', message: 'Deep.' }] }],
          },
        ],
      }),
      runs: [0, 1, 2],
      contexts: [['assistant: Done.'], ['user: Look.', 'assistant: Seen.'], ['assistant: Deep.']],
    },
  ];
}
