import OpenAI from 'openai';
import { PNG } from '../../provider/requests.ts';
import { type Client, type Job, runTool, type Seen, type SeenCall, SYSTEM, TOOL_SCHEMAS, taskOf } from './job.ts';

const clientOf = (url: string): OpenAI => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, maxRetries: 0 });
const IMAGE_URL = `data:image/png;base64,${PNG}`;

/** `openai` with Chat Completions. */
export const openaiChatSdk: Client = { name: 'openai (chat)', api: 'openai-chat', converse: converseChat };

type ChatMessage = OpenAI.ChatCompletionMessageParam;

async function converseChat(url: string, job: Job): Promise<Seen> {
  const client = clientOf(url);
  const task: OpenAI.ChatCompletionContentPart[] = [{ type: 'text', text: taskOf(job) }];
  if (job.hasImages) task.push({ type: 'image_url', image_url: { url: IMAGE_URL } });
  const messages: ChatMessage[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: task },
  ];
  const seen = { texts: [] as string[], thoughts: [], calls: [] as SeenCall[] };
  for (;;) {
    const reply = await askChat(client, messages, job);
    messages.push(reply);
    if (reply.content) seen.texts.push(reply.content);
    for (const call of reply.tool_calls ?? []) {
      if (call.type !== 'function') continue;
      const input = JSON.parse(call.function.arguments);
      seen.calls.push({ id: call.id, name: call.function.name, input });
      messages.push({ role: 'tool', tool_call_id: call.id, content: runTool(call.function.name, input, job).text });
    }
    if (!reply.tool_calls?.length) return seen;
  }
}

async function askChat(client: OpenAI, messages: ChatMessage[], job: Job): Promise<OpenAI.ChatCompletionMessage> {
  const request = {
    model: job.model ?? 'gpt-5',
    messages,
    tools: TOOL_SCHEMAS.map(({ name, description, schema }) => ({
      type: 'function' as const,
      function: { name, description, parameters: schema },
    })),
  };
  const completion = job.streams
    ? await client.chat.completions
        .stream({ ...request, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await client.chat.completions.create(request);
  const message = completion.choices[0]?.message;
  if (!message) throw new Error('The completion has no choice');
  const { role, content, tool_calls: calls } = message;
  return { role, content, ...(calls ? { tool_calls: calls.map(plainCall) } : {}) } as OpenAI.ChatCompletionMessage;
}

/** What the stream helper parsed is not sent back. */
function plainCall(call: OpenAI.ChatCompletionMessageToolCall): OpenAI.ChatCompletionMessageToolCall {
  if (call.type !== 'function') return call;
  const { name, arguments: json } = call.function;
  return { id: call.id, type: 'function', function: { name, arguments: json } };
}

/** `openai` with Responses, everything kept by the client. */
export const openaiResponsesSdk: Client = {
  name: 'openai (responses)',
  api: 'openai-responses',
  converse: converseResponses,
};

async function converseResponses(url: string, job: Job): Promise<Seen> {
  const client = clientOf(url);
  const content: OpenAI.Responses.ResponseInputContent[] = [{ type: 'input_text', text: taskOf(job) }];
  if (job.hasImages) content.push({ type: 'input_image', image_url: IMAGE_URL, detail: 'auto' });
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content }];
  const seen = { texts: [] as string[], thoughts: [] as string[], calls: [] as SeenCall[] };
  for (;;) {
    const output = await askResponses(client, input, job);
    input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    const before = seen.calls.length;
    for (const item of output) {
      if (item.type === 'reasoning') seen.thoughts.push(item.summary.map(({ text }) => text).join(''));
      if (item.type === 'message')
        seen.texts.push(item.content.map((part) => ('text' in part ? part.text : '')).join(''));
      if (item.type !== 'function_call') continue;
      const args = JSON.parse(item.arguments);
      seen.calls.push({ id: item.call_id, name: item.name, input: args });
      input.push({ type: 'function_call_output', call_id: item.call_id, output: runTool(item.name, args, job).text });
    }
    if (seen.calls.length === before) return seen;
  }
}

async function askResponses(
  client: OpenAI,
  input: OpenAI.Responses.ResponseInputItem[],
  job: Job,
): Promise<OpenAI.Responses.ResponseOutputItem[]> {
  const request = {
    model: job.model ?? 'gpt-5',
    instructions: SYSTEM,
    input,
    store: false,
    include: ['reasoning.encrypted_content' as const],
    tools: TOOL_SCHEMAS.map(({ name, description, schema }) => ({
      type: 'function' as const,
      name,
      description,
      parameters: schema,
      strict: false,
    })),
  };
  if (!job.streams) return (await client.responses.create(request)).output;
  const output: OpenAI.Responses.ResponseOutputItem[] = [];
  for await (const event of await client.responses.create({ ...request, stream: true }))
    if (event.type === 'response.output_item.done') output.push(event.item);
  return output;
}
