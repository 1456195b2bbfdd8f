import { type Json, output } from './requests.ts';

/**
 * Requests as agents from npm send them: ids, set-up messages and shapes are copied from recorded requests, the rest is
 * shortened. Claude Code 2.1.197, Codex CLI 0.166.0, Qwen Code 0.15.10, Gemini CLI 0.61.0, OpenCode 1.18, pi 0.73.
 */
export interface AgentRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
}

export interface Run {
  /** Where the agent sends one. */
  readonly session: string;
  readonly task: string;
  /** How many tool results the history has. */
  readonly turns: number;
  /** Makes the results of two runs differ. */
  readonly results?: (turn: number) => string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { authorization: 'Bearer sk-of-the-tests' };

const turnsOf = (turns: number): readonly number[] => Array.from({ length: turns }, (_, i) => i + 1);

const ENVIRONMENT =
  '<environment_context>\n  <cwd>/home/ann/app</cwd>\n  <shell>bash</shell>\n  <current_date>2026-11-16</current_date>\n  <timezone>Etc/UTC</timezone>\n</environment_context>';
const AGENTS_MD = '# AGENTS.md instructions for /home/ann/app\n\n<INSTRUCTIONS>\nUse tabs.\n\n</INSTRUCTIONS>';

const said = (role: string, ...texts: readonly string[]): Json => ({
  type: 'message',
  role,
  content: texts.map((text) => ({ type: 'input_text', text })),
});

/** The call ids of Codex come from the provider, so two runs never share one. */
export function codex({ session, task, turns, results = output }: Run): AgentRequest {
  const metadata = { session_id: session, thread_id: session, 'x-codex-window-id': `${session}:0` };
  return {
    path: '/v1/responses',
    headers: { ...JSON_TYPE, ...KEY, 'session-id': session, 'thread-id': session, originator: 'codex_exec' },
    body: {
      model: 'gpt-5.1-codex',
      stream: false,
      store: false,
      prompt_cache_key: session,
      client_metadata: metadata,
      tools: [{ type: 'function', name: 'exec_command', parameters: { type: 'object' } }],
      input: [
        said('developer', 'You are a coding agent running in the Codex CLI.'),
        said('developer', '<skills_instructions>\n## Skills\n</skills_instructions>'),
        said('user', AGENTS_MD, ENVIRONMENT),
        said('user', task),
        ...turnsOf(turns).flatMap((turn) => {
          const call_id = `call_${session}_${turn}`;
          return [
            { type: 'function_call', call_id, name: 'exec_command', arguments: `{"cmd":"cat ${turn}"}` },
            { type: 'function_call_output', call_id, output: results(turn) },
          ];
        }),
      ],
    },
  };
}

const QWEN_SET_UP =
  "This is the Qwen Code. We are setting up the context for our chat.\nToday's date is Monday, November 16, 2026 (formatted according to the user's locale).\nMy operating system is: linux\nI'm currently working in the directory: /home/ann/app";

const chatTurns = ({ session, turns, results = output }: Run): Json[] =>
  turnsOf(turns).flatMap((turn) => {
    const id = `call_${session}_${turn}`;
    const call = {
      id,
      type: 'function',
      function: { name: 'run_shell_command', arguments: `{"command":"cat ${turn}"}` },
    };
    return [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: results(turn) },
    ];
  });

/** It sends no id, unless the provider is DashScope. */
export function qwen(run: Run): AgentRequest {
  return {
    path: '/v1/chat/completions',
    headers: { ...JSON_TYPE, ...KEY },
    body: {
      model: 'qwen3-coder',
      stream: false,
      max_tokens: 8000,
      messages: [
        { role: 'system', content: 'You are Qwen Code, an interactive CLI agent developed by Alibaba Group.' },
        { role: 'user', content: [{ type: 'text', text: QWEN_SET_UP }] },
        { role: 'assistant', content: 'Got it. Thanks for the context!' },
        { role: 'user', content: [{ type: 'text', text: run.task }] },
        ...chatTurns(run),
      ],
    },
  };
}

const EPHEMERAL = { type: 'ephemeral' };
const REMINDER =
  "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# currentDate\nToday's date is 2026-11-16.\n</system-reminder>";

/** A sub-agent has the session of the agent that started it, and another task. */
export function claudeCode({ session, task, turns, results = output }: Run): AgentRequest {
  const user = { device_id: '5ee3e696', account_uuid: '', session_id: session };
  const first = { type: 'text', text: task, ...(turns === 0 ? { cache_control: EPHEMERAL } : {}) };
  return {
    path: '/v1/messages?beta=true',
    headers: {
      ...JSON_TYPE,
      'x-api-key': 'sk-ant-of-the-tests',
      'anthropic-version': '2023-06-01',
      'x-app': 'cli',
      'x-claude-code-session-id': session,
    },
    body: {
      model: 'claude-sonnet-5',
      max_tokens: 64_000,
      metadata: { user_id: JSON.stringify(user) },
      system: [{ type: 'text', text: 'You are a Claude agent. '.repeat(20), cache_control: EPHEMERAL }],
      tools: [{ name: 'Bash', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: REMINDER }, first] },
        ...turnsOf(turns).flatMap((turn) => {
          const id = `toolu_${session}_${task.length}_${turn}`;
          const cache = turn === turns ? { cache_control: EPHEMERAL } : {};
          return [
            { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: { command: `cat ${turn}` } }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: results(turn), ...cache }] },
          ];
        }),
      ],
    },
  };
}

/** A sub-agent has a session of its own, and names that of the agent that started it. */
export function openCode(run: Run & { readonly parent?: string }): AgentRequest {
  const { session, parent, task } = run;
  return {
    path: '/v1/chat/completions',
    headers: {
      ...JSON_TYPE,
      ...KEY,
      'x-session-id': session,
      'x-session-affinity': session,
      ...(parent === undefined ? {} : { 'x-parent-session-id': parent }),
    },
    body: {
      model: 'm1',
      stream: false,
      messages: [
        { role: 'system', content: 'You are opencode, an interactive CLI tool.' },
        { role: 'user', content: `"${task}"` },
        ...chatTurns(run),
      ],
    },
  };
}

/** With OpenAI's Responses; with other APIs it sends no id. */
export function pi(run: Run): AgentRequest {
  const { headers, body } = codex(run);
  const input = (body.input as Json[]).slice(3);
  const { client_metadata: _, ...rest } = body;
  const { 'session-id': id = '', 'thread-id': __, originator: ___, ...others } = headers;
  return { path: '/v1/responses', headers: { ...others, session_id: id }, body: { ...rest, input } };
}

/** The set-up is a part of the first message, and no id is sent. A call has an id, its response has none. */
export function geminiCli({
  session = '',
  task,
  turns = 0,
  results = output,
}: Partial<Run> & Pick<Run, 'task'>): AgentRequest {
  const setUp =
    "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Monday, November 16, 2026.\n</session_context>";
  return {
    path: '/v1beta/models/gemini-2.5-pro:generateContent',
    headers: { ...JSON_TYPE, 'x-goog-api-key': 'fake', 'x-gemini-api-privileged-user-id': 'f16de558' },
    body: {
      contents: [
        { role: 'user', parts: [{ text: setUp }, { text: task }] },
        ...turnsOf(turns).flatMap((turn) => {
          const name = 'run_shell_command';
          const functionCall = { id: `606d910c503ed5f7${session}${turn}`, name, args: { command: `cat ${turn}` } };
          return [
            { role: 'model', parts: [{ functionCall }] },
            { role: 'user', parts: [{ functionResponse: { name, response: { output: results(turn) } } }] },
          ];
        }),
      ],
      generationConfig: { topK: 64 },
    },
  };
}

/** With Anthropic's API it sends no id. */
export function piWithAnthropic({ session, task, turns, results = output }: Run): AgentRequest {
  return {
    path: '/v1/messages',
    headers: { ...JSON_TYPE, 'x-api-key': 'sk-ant-of-the-tests', 'anthropic-version': '2023-06-01' },
    body: {
      model: 'claude-sonnet-5',
      max_tokens: 32_000,
      system: [{ type: 'text', text: 'You are an expert coding assistant operating inside pi.' }],
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: task }] },
        ...turnsOf(turns).flatMap((turn) => {
          const id = `toolu_${session}_${turn}`;
          return [
            { role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command: `cat ${turn}` } }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: results(turn) }] },
          ];
        }),
      ],
    },
  };
}

/** An agent's own compaction: a summary in the place of all messages but the last so many. */
export interface Compaction {
  readonly summary: string;
  readonly keep: number;
}

const ACK = 'Got it. Thanks for the additional context!';

/** As Qwen Code compacts its history: the set-up stays. */
export function compactedQwen(run: Run, { summary, keep }: Compaction): AgentRequest {
  const { body, ...request } = qwen(run);
  const messages = body.messages as Json[];
  const state = { role: 'user', content: [{ type: 'text', text: `<state_snapshot>\n${summary}\n</state_snapshot>` }] };
  const ack = { role: 'assistant', content: ACK };
  return { ...request, body: { ...body, messages: [...messages.slice(0, 3), state, ack, ...last(messages, keep)] } };
}

/** As Gemini CLI does. */
export function compactedGemini(run: Run, { summary, keep }: Compaction): AgentRequest {
  const { body, ...request } = geminiCli({ ...run, task: `<state_snapshot>\n${summary}\n</state_snapshot>`, turns: 0 });
  const ack = { role: 'model', parts: [{ text: ACK }] };
  const kept = last(geminiCli(run).body.contents as Json[], keep);
  return { ...request, body: { ...body, contents: [...(body.contents as Json[]), ack, ...kept] } };
}

/** As pi does. */
export function compactedPi(run: Run, { summary, keep }: Compaction): AgentRequest {
  const { body, ...request } = piWithAnthropic(run);
  const text = `The conversation history before this point was compacted into the following summary:\n\n<summary>\n${summary}\n</summary>`;
  const kept = last(body.messages as Json[], keep);
  return { ...request, body: { ...body, messages: [{ role: 'user', content: [{ type: 'text', text }] }, ...kept] } };
}

/** Not `slice(-0)`, which is all of it. */
const last = (messages: readonly Json[], count: number): readonly Json[] => messages.slice(messages.length - count);
