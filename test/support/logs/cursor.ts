import { type Fields, lines, type SampleLog } from './sample-log.ts';

export function cursorLogs(): SampleLog[] {
  const line = (type: string, more: Fields): Fields => ({ type, session_id: 's', ...more });
  const says = (role: string, text: string): Fields =>
    line(role, { message: { role, content: [{ type: 'text', text }] } });
  const call = (subtype: string, call_id: string, tool_call: Fields): Fields =>
    line('tool_call', { subtype, call_id, tool_call });
  const shell = { args: { command: 'ls' } };
  const mcp = { args: { name: 'mail-send', toolName: 'send', args: { to: 'a' } } };
  const thinks = (text: string): Fields => line('thinking', { subtype: 'delta', text });
  return [
    {
      name: 'Cursor: thinking before pieces that are written again as a whole',
      format: 'cursor',
      isLines: true,
      text: lines(
        line('system', { subtype: 'init', cwd: '/', model: 'm', permissionMode: 'default' }),
        says('user', 'Fix it.'),
        thinks('Hm, '),
        thinks('what?'),
        line('thinking', { subtype: 'completed' }),
        says('assistant', 'I '),
        says('assistant', 'look.'),
        { ...says('assistant', 'I look.'), model_call_id: 'r1' },
        call('started', 'c1', { readToolCall: { args: { path: 'a' } } }),
        call('completed', 'c1', { readToolCall: { args: { path: 'a' }, result: { success: { content: 'one' } } } }),
        says('assistant', 'Do'),
        says('assistant', 'ne.'),
        thinks('Really?'),
        says('assistant', 'Yes.'),
        says('assistant', 'Yes.'),
      ),
      contexts: [
        [
          'user: Fix it.',
          'assistant: Hm, what?|I look. read c1 {"path":"a"}',
          'tool c1 read: one',
          'assistant: Done.|Really?|Yes.',
        ],
      ],
    },
    {
      name: 'Cursor: pieces of a text, calls at once, and an error',
      format: 'cursor',
      isLines: true,
      text: lines(
        line('system', { subtype: 'init', cwd: '/', model: 'm', permissionMode: 'default' }),
        says('user', 'Fix it.'),
        line('thinking', { subtype: 'completed' }),
        says('assistant', 'I '),
        says('assistant', 'look.'),
        says('assistant', 'I look.'),
        call('started', 'c1', { readToolCall: { args: { path: 'a' } } }),
        call('started', 'c2', { shellToolCall: shell }),
        call('completed', 'c2', { shellToolCall: { ...shell, result: { success: { stdout: 'a', stderr: '!' } } } }),
        call('completed', 'c1', { readToolCall: { args: { path: 'a' }, result: { success: { content: 'one' } } } }),
        call('started', 'c3', { mcpToolCall: mcp }),
        call('completed', 'c3', { mcpToolCall: { ...mcp, result: { rejected: { reason: 'No.' } } } }),
        call('completed', 'c4', { function: { name: 'odd', arguments: '{}', result: { success: { content: 'x' } } } }),
        says('assistant', 'Done.'),
        line('result', { subtype: 'success', result: 'Done.' }),
      ),
      contexts: [
        [
          'user: Fix it.',
          'assistant: I look. read c1 {"path":"a"} shell c2 {"command":"ls"}',
          'tool c2 shell: a|!',
          'tool c1 read: one',
          'assistant:  send c3 {"name":"mail-send","toolName":"send","args":{"to":"a"}}',
          'tool c3 send: {"rejected":{"reason":"No."}}',
          'assistant:  odd c4 {}',
          'tool c4 odd: x',
          'assistant: Done.',
        ],
      ],
    },
    {
      name: 'Cursor: two outputs, one after the other',
      format: 'cursor',
      isLines: true,
      text: lines(
        line('system', { subtype: 'init', cwd: '/', model: 'm', permissionMode: 'default' }),
        says('assistant', 'One.'),
        line('system', { subtype: 'init', cwd: '/', model: 'm', permissionMode: 'default', session_id: 's2' }),
        says('assistant', 'Two.'),
      ),
      runs: [0, 1],
      contexts: [['assistant: One.'], ['assistant: Two.']],
    },
  ];
}
