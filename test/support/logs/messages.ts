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
    {
      name: 'messages: fenced commands, and what they print as an observation',
      format: 'messages',
      isLines: false,
      text: JSON.stringify({
        messages: [
          task,
          { role: 'assistant', content: 'I look.\n```bash\nls\n```' },
          { role: 'user', content: 'Observation: a.py' },
          { role: 'assistant', content: 'Done.' },
        ],
      }),
      contexts: [
        ['user: Fix it.', 'assistant: I look. bash call ls', 'tool call bash: Observation: a.py', 'assistant: Done.'],
      ],
    },
    {
      name: 'messages: ShareGPT, with calls of their own and inside a text',
      format: 'messages',
      isLines: true,
      text: lines(
        {
          system: 'Be kind.',
          conversations: [
            { from: 'human', value: 'Fix it.' },
            { from: 'gpt', value: 'I look.' },
            { from: 'function_call', value: '{"name":"look","arguments":{"at":1}}' },
            { from: 'observation', value: 'one' },
            { from: 'function_call', value: '[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]' },
            { from: 'observation', value: 'two' },
            { from: 'observation', value: 'three' },
            { from: 'gpt', value: 'Done.' },
          ],
        },
        {
          conversations: [
            { from: 'system', value: 'Be brief.' },
            { from: 'human', value: 'Fix it.' },
            { from: 'gpt', value: 'So.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>' },
            { from: 'tool', value: '<tool_response>one</tool_response>' },
            { from: 'gpt', value: 'No <tool_call>no JSON</tool_call>' },
          ],
        },
      ),
      runs: [0, 1],
      contexts: [
        [
          'system: Be kind.',
          'user: Fix it.',
          'assistant: I look. look call {"at":1}',
          'tool call look: one',
          'assistant:  a call#2 {} b call#3 {}',
          'tool call#2 a: two',
          'tool call#3 b: three',
          'assistant: Done.',
        ],
        [
          'system: Be brief.',
          'user: Fix it.',
          'assistant: So. look call {}',
          'tool call look: <tool_response>one</tool_response>',
          'assistant: No tool call#2 no JSON',
        ],
      ],
    },
    {
      name: 'messages: lines of batches',
      format: 'messages',
      isLines: true,
      text: lines(
        {
          custom_id: 'a',
          method: 'POST',
          body: { model: 'm', messages: [task, { role: 'assistant', content: 'Done.' }] },
        },
        { custom_id: 'b', params: { system: 'Be kind.', messages: [task, { role: 'assistant', content: 'No.' }] } },
      ),
      runs: [0, 1],
      contexts: [
        ['user: Fix it.', 'assistant: Done.'],
        ['system: Be kind.', 'user: Fix it.', 'assistant: No.'],
      ],
    },
    {
      name: 'messages: those of an interface',
      format: 'messages',
      isLines: false,
      text: JSON.stringify([
        {
          id: '1',
          role: 'user',
          parts: [
            { type: 'text', text: 'Fix it.' },
            { type: 'file', url: 'data:' },
          ],
        },
        {
          id: '2',
          role: 'assistant',
          parts: [
            { type: 'step-start' },
            { type: 'reasoning', text: 'Hm.' },
            { type: 'text', text: 'I look.' },
            { type: 'tool-look', toolCallId: 'c1', state: 'output-available', input: { at: 1 }, output: { one: 1 } },
            {
              type: 'dynamic-tool',
              toolName: 'find',
              toolCallId: 'c2',
              state: 'output-error',
              input: {},
              errorText: 'No.',
            },
            { type: 'step-start' },
            {
              type: 'tool-invocation',
              toolInvocation: { toolCallId: 'c3', toolName: 'old', args: {}, result: 'three' },
            },
            { type: 'data-note', data: {} },
            { type: 'step-start' },
            { type: 'text', text: 'Done.' },
          ],
        },
      ]),
      contexts: [
        [
          'user: Fix it.',
          'assistant: Hm.|I look. look c1 {"at":1} find c2 {}',
          'tool c1 look: {"one":1}',
          'tool c2 find: No.',
          'assistant:  old c3 {}',
          'tool c3 old: three',
          'assistant: Done.',
        ],
      ],
    },
  ];
}
