import { type Fields, pretty, type SampleLog } from './sample-log.ts';

export function ampLogs(): SampleLog[] {
  const use = (id: string, name: string): Fields => ({
    type: 'tool_use',
    id,
    name,
    input: { path: 'a' },
    complete: true,
  });
  const result = (toolUseID: string, run: Fields): Fields => ({ type: 'tool_result', toolUseID, run });
  const usage = {
    model: 'm',
    inputTokens: 9,
    cacheReadInputTokens: 1000,
    cacheCreationInputTokens: 100,
    outputTokens: 20,
  };
  const messages = [
    { role: 'user', messageId: 0, content: [{ type: 'text', text: 'Fix it.' }], meta: { sentAt: 1_760_000_000_000 } },
    {
      ...{ role: 'assistant', messageId: 1, usage },
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        ...[
          { type: 'text', text: 'I look.' },
          use('t1', 'Read'),
          use('t2', 'Bash'),
          use('t3', 'finder'),
          use('t4', 'Bash'),
        ],
      ],
    },
    {
      role: 'user',
      content: [
        result('t1', { status: 'done', result: { absolutePath: '/a', content: '1: one' } }),
        result('t2', { status: 'done', result: { output: 'two', exitCode: 1 } }),
        result('t3', { status: 'done', result: 'three' }),
        result('t4', { status: 'error', error: { message: 'No.' } }),
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
  ];
  return [
    {
      name: 'Amp: results of several shapes',
      format: 'amp',
      isLines: false,
      text: pretty({ v: 5, id: 'T-1', created: 1, messages }),
      contexts: [
        [
          'user: Fix it.',
          'assistant: Hm.|I look. Read t1 {"path":"a"} Bash t2 {"path":"a"} finder t3 {"path":"a"} Bash t4 {"path":"a"}',
          'tool t1 Read: 1: one',
          'tool t2 Bash: two',
          'tool t3 finder: three',
          'tool t4 Bash: No.',
          'assistant: Done.',
        ],
      ],
    },
    {
      name: 'Amp: an export with results as they were sent',
      format: 'amp',
      isLines: false,
      text: pretty({
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'Fix it.' }] },
          { role: 'assistant', content: [use('t1', 'Read')] },
          { role: 'user', content: [{ type: 'tool_result', toolUseID: 't1', content: 'one' }] },
          { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
        ],
      }),
      contexts: [['user: Fix it.', 'assistant:  Read t1 {"path":"a"}', 'tool t1 Read: one', 'assistant: Done.']],
    },
  ];
}
