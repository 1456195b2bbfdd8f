import { createDemoConversations, type DemoConversation } from './demo-conversation.ts';

const PAUSE_MS = 100;

/** Plays the bundled conversations through a gateway, as an agent would. Returns the text to show at the end. */
export async function playDemo(url: string, signal: AbortSignal): Promise<string> {
  await Promise.all(createDemoConversations().map((conversation) => play(conversation, { url, signal })));
  return 'The conversation is over. Everything that was masked in it can still be read on the page.\n';
}

interface Stage {
  readonly url: string;
  readonly signal: AbortSignal;
}

interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

async function play({ model, task, steps }: DemoConversation, { url, signal }: Stage): Promise<void> {
  const messages: { role: string; content: Block[] }[] = [{ role: 'user', content: [{ type: 'text', text: task }] }];
  for (const [i, step] of [...steps, undefined].entries()) {
    await ask(
      { url, signal },
      { model, system: SYSTEM, tools: TOOLS, max_tokens: 1000, stream: true, messages: marked(messages) },
    );
    if (!step) return;
    const id = `toolu_demo_${2 * i + 1}`;
    messages.push(
      {
        role: 'assistant',
        content: [
          { type: 'text', text: step.say },
          { type: 'tool_use', id, name: step.tool, input: step.input },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: id, content: step.result, ...(step.isError ? { is_error: true } : {}) },
        ],
      },
    );
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function ask({ url, signal }: Stage, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'demo' };
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body), signal });
  await answer.arrayBuffer();
}

const MARKER = { cache_control: { type: 'ephemeral' } };

/** Adds cache markers where coding agents put them: on the system prompt and on the last message. */
function marked(messages: readonly { role: string; content: Block[] }[]) {
  return messages.map((message, i) => {
    if (i !== messages.length - 1) return message;
    const last = message.content.length - 1;
    return { ...message, content: message.content.map((block, at) => (at === last ? { ...block, ...MARKER } : block)) };
  });
}

const SYSTEM = [
  {
    type: 'text',
    text: `You are a coding agent. Use the tools, and say in the end what you changed.\n${'Keep to the style of the file you change. '.repeat(250)}`,
    ...MARKER,
  },
];

const TOOLS = ['read_file', 'grep', 'edit_file', 'bash'].map((name) => ({
  name,
  description: `The tool ${name}`,
  input_schema: { type: 'object' },
}));
