import { setTimeout as sleep } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { SYSTEM, TOOL_SCHEMAS } from '../support/gateway/clients/job.ts';
import { HONEST, JOB } from './upstream-process.ts';

export interface HonestOptions {
  readonly url: string;
  /** Tells the conversation from all others. */
  readonly task: string;
  readonly api: 'anthropic' | 'openai-chat';
  readonly streams: boolean;
  readonly thinks: boolean;
  /** Ends the conversation before its next request. */
  readonly isOver: () => boolean;
  /** Called with every result of a tool, by the id of its call, before it is sent. */
  readonly onResult: (call: string, text: string) => void;
  readonly onRequest: (request: { readonly attempts: number; readonly tookMs: number }) => void;
}

/** A request is given up after this long. */
const GIVE_UP_MS = 90_000;
const ATTEMPT_MS = 20_000;

/** Holds a conversation and sends each request again until it is answered. Throws where that does not help. */
export async function converse(options: HonestOptions): Promise<void> {
  const { isOver, onRequest } = options;
  const line = options.api === 'anthropic' ? anthropicLine(options) : chatLine(options);
  for (let turn = 0; !isOver(); turn++) {
    const began = performance.now();
    const { text, isEnd, attempts } = await untilAnswered(() => line.ask(), `${options.task}, turn ${turn}`);
    onRequest({ attempts, tookMs: performance.now() - began });
    const expected = turn < JOB.turns ? `Step ${turn}: ` : `All ${JOB.turns} steps are done.`;
    if (!text.startsWith(expected))
      throw new Error(
        `${options.task}, turn ${turn}: expected a reply "${expected}…" but found "${text.slice(0, 80)}"`,
      );
    if (isEnd) return;
  }
}

interface Answer {
  readonly text: string;
  readonly isEnd: boolean;
}

interface Line {
  ask(): Promise<Answer>;
}

async function untilAnswered(ask: () => Promise<Answer>, what: string): Promise<Answer & { attempts: number }> {
  const began = performance.now();
  for (let attempts = 1; ; attempts++) {
    try {
      return { ...(await ask()), attempts };
    } catch (error) {
      const { status } = error as { status?: number };
      const isHopeless = status !== undefined && status < 500 && status !== 408 && status !== 429;
      const tookMs = Math.round(performance.now() - began);
      if (isHopeless || tookMs > GIVE_UP_MS)
        throw new Error(`${what}: no answer after ${attempts} attempts in ${tookMs} ms: ${String(error)}`);
      await sleep(Math.min(1000, 50 * 2 ** attempts));
    }
  }
}

/** Other texts in every conversation, and longer ones the longer it goes on. */
function resultOf(task: string, turn: number, input: unknown): string {
  const about = `${task} turn ${turn} ${JSON.stringify(input)}`;
  const lines = Array.from({ length: 10 + 2 * turn }, (_, i) => `${i}\t ${about} value ${turn * 7919 + i * 31}`);
  return lines.join('\n');
}

const CLIENT = { maxRetries: 0, timeout: ATTEMPT_MS, defaultHeaders: { [HONEST]: 'yes' } };

function anthropicLine({ url, task, streams, thinks, onResult }: HonestOptions): Line {
  const client = new Anthropic({ apiKey: 'sk-ant-test', baseURL: url, ...CLIENT });
  const marker = { cache_control: { type: 'ephemeral' as const } };
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: task }] }];
  let turn = 0;
  return {
    async ask() {
      const last = messages.at(-1) as Anthropic.MessageParam;
      const blocks = last.content as Anthropic.ContentBlockParam[];
      const marked = blocks.map((block, i) => (i === blocks.length - 1 ? { ...block, ...marker } : block));
      const request = {
        model: 'claude-sonnet-5',
        max_tokens: 8192,
        system: [{ type: 'text' as const, text: SYSTEM, ...marker }],
        tools: TOOL_SCHEMAS.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
        messages: [...messages.slice(0, -1), { ...last, content: marked } as Anthropic.MessageParam],
        ...(thinks ? { thinking: { type: 'adaptive' as const } } : {}),
      };
      const reply = await (streams ? client.messages.stream(request).finalMessage() : client.messages.create(request));
      if (!reply.stop_reason) throw new Error('the reply has no end');
      const results: Anthropic.ContentBlockParam[] = [];
      for (const block of reply.content) {
        if (block.type !== 'tool_use') continue;
        const content = resultOf(task, turn, block.input);
        onResult(block.id, content);
        results.push({ type: 'tool_result', tool_use_id: block.id, content });
      }
      messages.push({ role: 'assistant', content: reply.content }, { role: 'user', content: results });
      turn += 1;
      const text = reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      return { text, isEnd: reply.stop_reason !== 'tool_use' };
    },
  };
}

function chatLine({ url, task, onResult }: HonestOptions): Line {
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, ...CLIENT });
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: task },
  ];
  let turn = 0;
  return {
    async ask() {
      const { choices } = await client.chat.completions.create({
        model: 'gpt-5',
        tools: TOOL_SCHEMAS.map(({ name, description, schema }) => ({
          type: 'function' as const,
          function: { name, description, parameters: schema },
        })),
        messages,
      });
      const [choice] = choices;
      if (!choice) throw new Error('the reply has no choice');
      messages.push(choice.message);
      for (const call of choice.message.tool_calls ?? []) {
        const content = resultOf(task, turn, call.type === 'function' ? call.function.arguments : '');
        onResult(call.id, content);
        messages.push({ role: 'tool', tool_call_id: call.id, content });
      }
      turn += 1;
      return { text: choice.message.content ?? '', isEnd: choice.finish_reason !== 'tool_calls' };
    },
  };
}
