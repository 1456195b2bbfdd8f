import { samples } from '../format-samples.ts';
import { lines, pretty, type SampleLog } from './sample-log.ts';

export function messageLogs(): SampleLog[] {
  const task = { role: 'user', content: 'Fix it.' };
  const inTags = 'I look.\n\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>';
  const file = 'line of a file\n'.repeat(20).replaceAll('\n', '|');
  const thoughts: Readonly<Record<string, string>> = {
    chat: 'I look.',
    'openai-responses': 'Hm.',
    'openai-agents': 'Hm.',
  };
  // Where a result has several texts, the last of them says so.
  const ends: Readonly<Record<string, string>> = { chat: '', 'openai-responses': '', 'openai-agents': '', ollama: '' };
  const story = (name: string): string[] => [
    ...(name === 'anthropic' || name === 'bedrock-converse' ? [] : ['system: You fix bugs.']),
    'user: Fix the bug.',
    `assistant: ${thoughts[name] ?? 'Hm.|I look.'} read c1 {"path":"a.ts"} bash c2 {"cmd":"ls"}`,
    `tool c1 read: ${file}${ends[name] ?? '|end'}`,
    `tool c2 bash: ${name === 'ai-sdk' ? '{"exit":1}' : 'exit 1'}`,
    'user: Hurry.',
    'assistant:  read c3 {}',
  ];
  const plain = samples.filter(({ name }) => name !== 'gemini');
  return [
    ...plain.map(
      ({ name, messages }): SampleLog => ({
        name: `messages: ${name}`,
        format: 'messages',
        isLines: false,
        text: pretty(messages),
        contexts: [story(name)],
      }),
    ),
    {
      name: 'messages: a request with its system prompt, and lines of them',
      format: 'messages',
      isLines: true,
      text: lines(
        {
          model: 'm',
          system: 'Be brief.',
          messages: [task, { role: 'assistant', content: [{ type: 'text', text: 'A.' }] }],
        },
        { messages: [task, { role: 'assistant', content: 'B.' }] },
      ),
      runs: [0, 1],
      contexts: [
        ['system: Be brief.', 'user: Fix it.', 'assistant: A.'],
        ['user: Fix it.', 'assistant: B.'],
      ],
    },
    {
      name: 'messages: functions as text',
      format: 'messages',
      isLines: false,
      text: pretty({
        messages: [
          task,
          { role: 'assistant', content: inTags },
          { role: 'user', content: 'OBSERVATION:\na.py' },
          { role: 'assistant', content: '<function=submit>\n' },
        ],
        id: 'x',
      }),
      contexts: [
        [
          'user: Fix it.',
          'assistant: I look. bash call {"command":"ls"}',
          'tool call bash: OBSERVATION:|a.py',
          'assistant:  submit call#2 {}',
        ],
      ],
    },
    {
      name: 'messages: fenced commands as text',
      format: 'messages',
      isLines: false,
      text: pretty([
        task,
        { role: 'assistant', content: 'I look.\n```bash\nls\n```' },
        { role: 'user', content: '<returncode>0</returncode>' },
        { role: 'assistant', content: 'For example:\n\nDone.' },
      ]),
      contexts: [
        [
          'user: Fix it.',
          'assistant: I look. bash call ls',
          'tool call bash: <returncode>0</returncode>',
          'assistant: For example:||Done.',
        ],
      ],
    },
  ];
}
