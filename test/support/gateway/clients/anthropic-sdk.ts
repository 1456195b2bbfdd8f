import Anthropic from '@anthropic-ai/sdk';
import { PNG } from '../../provider/requests.ts';
import { type Client, type Job, runTool, type Seen, SYSTEM, TOOL_SCHEMAS, taskOf } from './job.ts';

type Message = Anthropic.MessageParam;
type Block = Anthropic.ContentBlockParam;

const MARKER = { cache_control: { type: 'ephemeral' as const } };
const IMAGE: Anthropic.ImageBlockParam = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: PNG },
};

/** `@anthropic-ai/sdk`, with markers as a coding agent places them: on system and on the last two user messages. */
export const anthropicSdk: Client = { name: '@anthropic-ai/sdk', api: 'anthropic', converse };

async function converse(url: string, job: Job): Promise<Seen> {
  const client = new Anthropic({ apiKey: 'sk-ant-test', baseURL: url, maxRetries: job.retries ?? 0 });
  const task: Block[] = [{ type: 'text', text: taskOf(job) }, ...(job.hasImages ? [IMAGE] : [])];
  const messages: Message[] = [{ role: 'user', content: task }];
  const seen = { texts: [] as string[], thoughts: [] as string[], calls: [] as Seen['calls'][number][] };
  for (;;) {
    const reply = await ask(client, withMarkers(messages), job);
    messages.push({ role: 'assistant', content: reply.content });
    const results: Block[] = [];
    for (const block of reply.content) {
      if (block.type === 'text') seen.texts.push(block.text);
      if (block.type === 'thinking') seen.thoughts.push(block.thinking);
      if (block.type !== 'tool_use') continue;
      seen.calls.push({ id: block.id, name: block.name, input: block.input });
      results.push(resultOf(block, job));
    }
    if (reply.stop_reason !== 'tool_use') return seen;
    messages.push({ role: 'user', content: results });
  }
}

async function ask(client: Anthropic, messages: Message[], job: Job): Promise<Anthropic.Message> {
  const request = {
    model: job.model ?? 'claude-sonnet-5',
    max_tokens: 8192,
    system: [{ type: 'text' as const, text: SYSTEM, ...MARKER }],
    tools: TOOL_SCHEMAS.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
    messages,
    ...(job.thinks ? { thinking: { type: 'adaptive' as const } } : {}),
  };
  return job.streams ? client.messages.stream(request).finalMessage() : client.messages.create(request);
}

function resultOf({ id, name, input }: Anthropic.ToolUseBlock, job: Job): Block {
  const { text, isError, hasImage } = runTool(name, input, job);
  const content = hasImage ? [{ type: 'text' as const, text }, IMAGE] : text;
  return { type: 'tool_result', tool_use_id: id, content, ...(isError ? { is_error: true } : {}) };
}

function withMarkers(messages: readonly Message[]): Message[] {
  const users = messages.filter(({ role }) => role === 'user').slice(-2);
  return messages.map((message) => {
    if (message.role !== 'user' || !users.includes(message) || typeof message.content === 'string') return message;
    const last = message.content.at(-1);
    if (!last) return message;
    return { ...message, content: [...message.content.slice(0, -1), { ...last, ...MARKER } as Block] };
  });
}
