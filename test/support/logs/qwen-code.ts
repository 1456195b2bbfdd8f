import { type Fields, lines, type SampleLog } from './sample-log.ts';

export function qwenLogs(): SampleLog[] {
  const line = (uuid: string, parentUuid: string | null, more: Fields): Fields => ({
    ...{ uuid, parentUuid, sessionId: 's', timestamp: '2026-01-02T03:04:05.000Z', cwd: '/', version: '0.6.0' },
    ...more,
  });
  const user = (text: string): Fields => ({ type: 'user', message: { role: 'user', parts: [{ text }] } });
  const model = (...parts: Fields[]): Fields => ({ role: 'model', parts });
  const says = (text: string): Fields => ({ type: 'assistant', model: 'm', message: model({ text }) });
  const call = (name: string, id?: string): Fields => ({ functionCall: { id, name, args: { path: 'a' } } });
  const response = (name: string, output: string, id?: string): Fields => ({
    functionResponse: { id, name, response: { output } },
  });
  const result = (...parts: Fields[]): Fields => ({ type: 'tool_result', message: { role: 'user', parts } });
  const system = (subtype: string, systemPayload: Fields): Fields => ({ type: 'system', subtype, systemPayload });
  return [
    {
      name: 'Qwen Code: calls with and without ids, and a compression that keeps the end',
      format: 'qwen-code',
      isLines: true,
      text: lines(
        line('a', null, system('session_source', { sourceType: 'cli' })),
        line('b', 'a', user('Fix it.')),
        line('c', 'b', {
          type: 'assistant',
          message: model(
            { text: 'Hm.', thought: true },
            { text: 'I look.' },
            call('read_file', 'c1'),
            call('ls', 'c2'),
          ),
        }),
        line('d', 'c', result(response('read_file', 'one', 'c1'))),
        line('e', 'd', result(response('ls', 'two', 'c2'))),
        line('f', 'e', { type: 'assistant', message: model(call('ls')) }),
        line('g', 'f', result(response('ls', 'three'))),
        line('h', 'g', {
          ...system('custom_title', { customTitle: 'A title' }),
          message: { parts: [{ text: 'No.' }] },
        }),
        line('i', 'h', says('Done.')),
        line(
          'j',
          'i',
          system('chat_compression', {
            info: {},
            compressedHistory: [user('Summary.').message, model({ text: 'I see.' })],
          }),
        ),
        line('k', 'j', user('More.')),
        line('l', 'k', says('Yes.')),
      ),
      carried: [0, 1],
      contexts: [
        [
          'user: Fix it.',
          'assistant: Hm.|I look. read_file c1 {"path":"a"} ls c2 {"path":"a"}',
          'tool c1 read_file: one',
          'tool c2 ls: two',
          'assistant:  ls call {"path":"a"}',
          'tool call ls: three',
          'assistant: Done.',
        ],
        ['user: Summary.', 'assistant: I see.', 'user: More.', 'assistant: Yes.'],
      ],
    },
    {
      name: 'Qwen Code: a branch, in which the user went back',
      format: 'qwen-code',
      isLines: true,
      text: lines(
        { ...line('a', null, user('Fix it.')), forkedFrom: { sessionId: 'r', messageUuid: 'a' } },
        { ...line('b', 'a', says('So?')), forkedFrom: { sessionId: 'r', messageUuid: 'b' } },
        line('c', 'b', user('No.')),
        line('d', 'c', says('Oh.')),
        line('e', 'b', system('rewind', { truncatedCount: 2 })),
        line('f', 'e', user('Yes.')),
        line('g', 'f', says('Good.')),
      ),
      carried: [1, 1],
      contexts: [
        ['user: Fix it.', 'assistant: So?', 'user: No.', 'assistant: Oh.'],
        ['user: Fix it.', 'assistant: So?', 'user: Yes.', 'assistant: Good.'],
      ],
    },
  ];
}
