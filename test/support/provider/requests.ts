import type { Fields } from './json.ts';

/** The smallest PNG that there is: one pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-api-key': 'sk-ant-test',
  'anthropic-version': '2023-06-01',
  authorization: 'Bearer sk-test',
  'x-goog-api-key': 'test',
};

const BASH = { name: 'bash', description: 'Runs a command', input_schema: { type: 'object' } };

/** A legal request after one call, with all that agents send. */
export const ANTHROPIC: Fields = {
  model: 'claude-sonnet-4-5',
  max_tokens: 8192,
  system: [{ type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral' } }],
  tools: [BASH],
  messages: [
    { role: 'user', content: 'Fix the bug.' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'text', text: 'a.ts' }],
          cache_control: { type: 'ephemeral' },
        },
      ],
    },
  ],
};

export const CHAT: Fields = {
  model: 'gpt-5',
  max_completion_tokens: 4096,
  tools: [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }],
  messages: [
    { role: 'system', content: 'You write code.' },
    { role: 'user', content: 'Fix the bug.' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'a.ts' },
  ],
};

export const RESPONSES: Fields = {
  model: 'gpt-5',
  store: false,
  tools: [{ type: 'function', name: 'bash', parameters: { type: 'object' }, strict: false }],
  input: [
    { role: 'user', content: 'Fix the bug.' },
    { type: 'function_call', call_id: 'call_1', name: 'bash', arguments: '{"command":"ls"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'a.ts' },
  ],
};

export const GEMINI: Fields = {
  systemInstruction: { parts: [{ text: 'You write code.' }] },
  tools: [{ functionDeclarations: [{ name: 'bash', parameters: { type: 'OBJECT' } }] }],
  contents: [
    { role: 'user', parts: [{ text: 'Fix the bug.' }] },
    { role: 'model', parts: [{ functionCall: { name: 'bash', args: { command: 'ls' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'bash', response: { output: 'a.ts' } } }] },
  ],
};

export const PATHS = {
  anthropic: '/v1/messages',
  count: '/v1/messages/count_tokens',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  gemini: '/v1beta/models/gemini-2.5-pro:generateContent',
  gemini3: '/v1beta/models/gemini-3-pro:generateContent',
} as const;

/** A copy with one place changed. `undefined` takes it away. */
export function withChange(body: Fields, path: readonly (string | number)[], value: unknown): Fields {
  const copy = structuredClone(body) as Record<string | number, unknown>;
  let place = copy;
  for (const key of path.slice(0, -1)) place = place[key] as Record<string | number, unknown>;
  const last = path.at(-1) as string | number;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy as Fields;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Fields;
}

/** Sends bytes or JSON as no client would dare. */
export async function post(
  url: string,
  body: Fields | string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const sent = Object.entries({ ...HEADERS, ...headers }).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, { method: 'POST', headers: Object.fromEntries(sent), body: raw });
  const text = await response.text();
  const isJson = /^application\/json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
}
