import { type Fields, lines, type SampleLog } from './sample-log.ts';

export function droidLogs(): SampleLog[] {
  const line = (id: string, parentId: string | null, role: string, ...content: Fields[]): Fields => ({
    ...{ type: 'message', id, parentId, timestamp: '2026-01-02T03:04:05.000Z' },
    message: { role, content },
  });
  const text = (value: string): Fields => ({ type: 'text', text: value });
  const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'Read', input: { file_path: id } });
  const result = (id: string, content: unknown): Fields => ({ type: 'tool_result', tool_use_id: id, content });
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
