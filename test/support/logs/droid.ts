import { type Fields, lines, type SampleLog } from './sample-log.ts';

export function droidLogs(): SampleLog[] {
  const line = (id: string, parentId: string | null, role: string, ...content: Fields[]): Fields => ({
    ...{ type: 'message', id, parentId, timestamp: '2026-01-02T03:04:05.000Z' },
    message: { role, content },
  });
  const text = (value: string): Fields => ({ type: 'text', text: value });
  const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'Read', input: { file_path: id } });
  const result = (id: string, content: unknown): Fields => ({ type: 'tool_result', tool_use_id: id, content });
  const event = (type: string, more: Fields): Fields => ({
    ...{ type, timestamp: 1_760_000_000_000, session_id: 's' },
    ...more,
  });
  return [
    {
      name: 'Droid: the user went back, and a compaction',
      format: 'droid',
      isLines: true,
      text: lines(
        { type: 'session_start', id: 's', title: 'Fix it', owner: 'me', version: 2, cwd: '/' },
        line('a', null, 'user', text('Fix it.'), text('<system-reminder>Be kind.</system-reminder>')),
        line('b', 'a', 'assistant', { type: 'thinking', thinking: 'Hm.' }, text('I look.'), use('t1'), use('t2')),
        line('c', 'b', 'user', result('t1', 'one'), result('t2', [text('two')])),
        { type: 'todo_state', id: 'x', todos: [] },
        line('d', 'c', 'assistant', text('So?')),
        line('e', 'd', 'user', text('No.')),
        line('f', 'e', 'assistant', text('Oh.')),
        line('g', 'd', 'user', text('Yes.')),
        line('h', 'g', 'assistant', text('Good.')),
        { type: 'compaction_state', id: 'y', summaryText: 'Summary.', anchorMessage: { id: 'd' }, removedCount: 4 },
        line('i', 'h', 'assistant', text('More.')),
      ),
      carried: [0, 2, 1],
      contexts: [
        [...begin, 'user: No.', 'assistant: Oh.'],
        [...begin, 'user: Yes.', 'assistant: Good.'],
        ['user: Summary.', 'user: Yes.', 'assistant: Good.', 'assistant: More.'],
      ],
    },
    {
      name: 'Droid: the output of exec',
      format: 'droid',
      isLines: true,
      text: lines(
        { type: 'system', subtype: 'init', session_id: 's', cwd: '/', tools: ['Read'], model: 'm' },
        event('message', { role: 'user', id: 'm1', text: 'Fix it.' }),
        event('message', { role: 'assistant', id: 'm2', text: 'I look.' }),
        event('tool_call', { id: 'c1', messageId: 'm2', toolId: 'Read', toolName: 'Read', parameters: { path: 'a' } }),
        event('tool_result', { id: 'c1', messageId: 'm3', toolId: 'Read', isError: false, value: 'one' }),
        event('message', { role: 'assistant', id: 'm4', text: 'Done.' }),
        event('completion', { finalText: 'Done.', numTurns: 2, usage: { input_tokens: 10, output_tokens: 5 } }),
      ),
      contexts: [['user: Fix it.', 'assistant: I look. Read c1 {"path":"a"}', 'tool c1 Read: one', 'assistant: Done.']],
    },
    {
      name: 'Droid: two outputs of exec, one after the other',
      format: 'droid',
      isLines: true,
      text: lines(
        { type: 'system', subtype: 'init', session_id: 's', cwd: '/', tools: ['Read'], model: 'm' },
        event('message', { role: 'assistant', id: 'm1', text: 'One.' }),
        { type: 'system', subtype: 'init', session_id: 's2', cwd: '/', tools: ['Read'], model: 'm' },
        event('message', { role: 'assistant', id: 'm2', text: 'Two.' }),
      ),
      runs: [0, 1],
      contexts: [['assistant: One.'], ['assistant: Two.']],
    },
  ];
}

const begin = [
  'user: Fix it.',
  'user: <system-reminder>Be kind.</system-reminder>',
  'assistant: Hm.|I look. Read t1 {"file_path":"t1"} Read t2 {"file_path":"t2"}',
  'tool t1 Read: one',
  'tool t2 Read: two',
  'assistant: So?',
];
