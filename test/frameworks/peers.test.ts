import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
} from '@langchain/core/messages';
import { Message, Offload, TextBlock, ToolResultBlock, ToolUseBlock } from '@strands-agents/sdk';
import { type ModelMessage, pruneMessages } from 'ai7';
import { ClearToolUsesEdit, countTokensApproximately } from 'langchain';
import { describe, expect, it } from 'vitest';
import {
  aiSdk,
  clearToolUses,
  dropOldestTurns,
  fit,
  isPlaceholder,
  langchain,
  slidingWindow,
} from '../../src/index.ts';
import { PNG } from '../../src/testing/png.ts';

const output = (turn: number): string =>
  Array.from({ length: 400 }, (_, line) => `line ${line} of result ${turn}`).join('\n');

/** The texts of the results, by turn. Turn 1 fails with a few words, turn 2 with many. */
const resultOf = (turn: number): { readonly text: string; readonly isError: boolean } => ({
  text: turn === 1 ? 'No such file.' : output(turn),
  isError: turn === 1 || turn === 2,
});

/** A loop of tools on one question, as LangChain has it with Anthropic: calls are in `tool_calls` and in `content`. */
function langchainLoop(turns: number): BaseMessage[] {
  const loop = Array.from({ length: turns }, (_, turn) => {
    const { text, isError } = resultOf(turn);
    const [id, args] = [`call_${turn}`, { path: `src/${turn}.ts` }];
    const block = { type: 'tool_use', id, name: 'read', input: args };
    const content = [{ type: 'text', text: `Step ${turn}.` }, block];
    const about = { id: `result_${turn}`, artifact: { turn }, status: isError ? 'error' : 'success' } as const;
    return [
      new AIMessage({ content, tool_calls: [{ type: 'tool_call', id, name: 'read', args }] }),
      new ToolMessage({ tool_call_id: id, name: 'read', content: text, ...about }),
    ];
  });
  return [new SystemMessage('You are an agent.'), new HumanMessage('Fix the bug.'), ...loop.flat()];
}

const pairsIn = (messages: readonly BaseMessage[]) => langchain.check(messages as never);

/** How many requests do not begin with the one before. Each costs the provider's cache from there on. */
function rewrites(requests: readonly (readonly BaseMessage[])[]): number {
  const texts = requests.map((messages) => messages.map(({ content }) => JSON.stringify(content)));
  return texts.filter((now, i) => texts[i - 1]?.some((text, at) => text !== now[at])).length;
}

/** What LangChain's edit makes of a history. It changes the list that it is given. */
async function cleared(messages: BaseMessage[], options: ConstructorParameters<typeof ClearToolUsesEdit>[0]) {
  const model = undefined as never;
  await new ClearToolUsesEdit(options).apply({ messages, model, countTokens: countTokensApproximately });
  return messages;
}

describe('ClearToolUsesEdit of LangChain', () => {
  it('rewrites the prompt in every step above the trigger; clearToolUses only when it is reached again', async () => {
    const tokens = 22_000;
    const steps = [12, 13, 14, 15, 16, 17, 18, 19, 20];
    const options = { trigger: { tokens }, keep: { messages: 3 } };
    const theirs = await Promise.all(steps.map((turns) => cleared(langchainLoop(turns), options)));
    const clearedIn = theirs.map((sent) => sent.filter(({ content }) => content === '[cleared]').length);
    expect(clearedIn).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17]);
    expect(rewrites(theirs)).toBe(8);
    const policy = clearToolUses({ trigger: tokens, keep: 3 });
    const ours = steps.map((turns) => fit(langchainLoop(turns), { policy }));
    expect(rewrites(ours.map(({ messages }) => messages))).toBe(2);
    expect(ours.at(-1)?.report.maskedCount).toBeGreaterThan(10);
  });

  it('loses the status, the id and the artifact of a result; a masked result keeps them', async () => {
    const aboutFailure = ({ status, id, artifact }: ToolMessage) => ({ status, id, artifact });
    const failureIn = (messages: readonly BaseMessage[]) => messages[7] as ToolMessage;
    const theirs = failureIn(await cleared(langchainLoop(12), { trigger: { tokens: 1 } }));
    expect(aboutFailure(theirs)).toEqual({ status: undefined, id: undefined, artifact: undefined });
    const ours = failureIn(fit(langchainLoop(12), { policy: clearToolUses({ trigger: 1 }) }).messages);
    expect(isPlaceholder(String(ours.content))).toBe(true);
    expect(aboutFailure(ours)).toEqual({ status: 'error', id: 'result_2', artifact: { turn: 2 } });
  });

  it('clears an error of a few words; fit keeps it', async () => {
    const theirs = await cleared(langchainLoop(12), { trigger: { tokens: 1 } });
    const ours = fit(langchainLoop(12), { policy: clearToolUses({ trigger: 1 }) }).messages;
    expect([theirs[5]?.content, ours[5]?.content]).toEqual(['[cleared]', 'No such file.']);
  });

  it('with clearToolInputs clears arguments in one of the two places that have them; oldTexts of a policy in both', async () => {
    const args = { path: 'src/0.ts', old_string: 'old text\n'.repeat(80), new_string: 'new' };
    const id = 'call_edit';
    const edit = [
      new AIMessage({
        content: [{ type: 'tool_use', id, name: 'edit_file', input: args }],
        tool_calls: [{ type: 'tool_call', id, name: 'edit_file', args }],
      }),
      new ToolMessage({ tool_call_id: id, name: 'edit_file', content: output(0) }),
    ];
    // The arguments may change only behind the first mask of a request: a result before the edit.
    const history = (): BaseMessage[] => langchainLoop(5).toSpliced(4, 0, ...edit);
    const inputs = (messages: readonly BaseMessage[]) => {
      const { content, tool_calls } = messages[4] as AIMessage;
      return [tool_calls?.[0]?.args, (content as unknown as { input: unknown }[])[0]?.input];
    };
    const options = { trigger: { tokens: 1 }, keep: { messages: 1 }, clearToolInputs: true };
    expect(inputs(await cleared(history(), options))).toEqual([{}, args]);
    const policy = slidingWindow({ turns: 3, oldTexts: true });
    const short = { ...args, old_string: expect.stringMatching(/^old text\n.* left out\]$/s) };
    expect(inputs(fit(history(), { policy }).messages)).toEqual([short, short]);
  });
});

describe('countTokensApproximately of LangChain', () => {
  it('counts neither images nor thinking; fit counts both', () => {
    const call = { type: 'tool_call', id: 'call_0', name: 'show', args: {} } as const;
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
    const history = (thinking: string, images: (typeof image)[]): BaseMessage[] => [
      new HumanMessage('Look.'),
      new AIMessage({ content: [{ type: 'thinking', thinking, signature: 'signed' }], tool_calls: [call] }),
      new ToolMessage({ tool_call_id: 'call_0', content: [{ type: 'text', text: 'Shown.' }, ...images] }),
    ];
    const [thoughts, plain] = ['thought '.repeat(500), history('', [])];
    expect(countTokensApproximately(history(thoughts, [image]))).toBe(countTokensApproximately(plain));
    const sizeOf = (messages: BaseMessage[]): number => fit(messages, { format: langchain }).report.tokens.before;
    expect(sizeOf(history(thoughts, [])) - sizeOf(plain)).toBeGreaterThan(400);
    const imageTokens = sizeOf(history('', [image])) - sizeOf(plain);
    // 400 × 300 pixels are between 100 and 800 tokens with every provider.
    expect(imageTokens > 100 && imageTokens < 800).toBe(true);
  });
});

describe('trimMessages of LangChain', () => {
  const tokenCounter = (messages: readonly BaseMessage[]): number => messages.length;
  const trim = { maxTokens: 3, strategy: 'last', tokenCounter } as const;

  it('begins with a result without its call; dropOldestTurns drops whole turns', async () => {
    const theirs = await trimMessages(langchainLoop(30), trim);
    expect(theirs.map((message) => message.getType())).toEqual(['tool', 'ai', 'tool']);
    const { messages: ours, droppedCount } = dropOldestTurns(langchainLoop(30), { maxTokens: 12_000 });
    expect(droppedCount).toBeGreaterThan(40);
    expect(ours.slice(0, 4).map((message) => message.getType())).toEqual(['system', 'human', 'human', 'ai']);
    expect(pairsIn(ours)).toEqual([]);
  });

  it('that starts on a question loses a loop of tools; fit keeps the task and the newest turn', async () => {
    expect(await trimMessages(langchainLoop(30), { ...trim, startOn: 'human' })).toEqual([]);
    const { messages: ours, report } = fit(langchainLoop(30), { maxTokens: 6000, policy: slidingWindow({ turns: 3 }) });
    expect(report.tokens.after).toBeLessThan(6000);
    expect(ours.slice(0, 2).map(({ content }) => content)).toEqual(['You are an agent.', 'Fix the bug.']);
    expect(ours.at(-1)?.content).toBe(output(29));
    expect(pairsIn(ours)).toEqual([]);
  });
});

describe('pruneMessages of the AI SDK', () => {
  it('removes calls and reasoning with their results; fit removes neither', () => {
    const step = (turn: number): ModelMessage[] => {
      const call = { toolCallId: `call_${turn}`, toolName: 'read' };
      const reasoning = { type: 'reasoning' as const, text: `Thought ${turn}.` };
      return [
        { role: 'assistant', content: [reasoning, { type: 'tool-call', ...call, input: { turn } }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value: output(turn) } }] },
      ];
    };
    const messages: ModelMessage[] = [{ role: 'user', content: 'Fix the bug.' }, ...[0, 1, 2, 3].flatMap(step)];
    const theirs = pruneMessages({ messages, toolCalls: 'before-last-2-messages' });
    expect(theirs).toEqual([messages[0], ...messages.slice(-2)]);
    const { messages: ours, report } = fit(messages, { policy: slidingWindow({ turns: 1 }) });
    expect(report.maskedCount).toBe(3);
    expect(ours.filter(({ role }) => role !== 'tool')).toEqual(messages.filter(({ role }) => role !== 'tool'));
  });
});

describe('Offload of Strands', () => {
  it('drops one more result in every step, and also one that is shorter than its marker', async () => {
    const loop = (turns: number): Message[] => {
      const messages = Array.from({ length: turns }, (_, turn) => {
        const call = new ToolUseBlock({ toolUseId: `call_${turn}`, name: 'read', input: { turn } });
        const content = [new TextBlock(turn === 0 ? 'ok' : output(turn))];
        const result = new ToolResultBlock({ toolUseId: `call_${turn}`, status: 'success', content });
        return [new Message({ role: 'assistant', content: [call] }), new Message({ role: 'user', content: [result] })];
      });
      return [new Message({ role: 'user', content: [new TextBlock('Fix the bug.')] }), ...messages.flat()];
    };
    const dropped = await Promise.all(
      [12, 13, 14].map(async (turns) => {
        const messages = loop(turns);
        const agent = { messages, model: { countTokens: async () => 1000 } };
        const strategy = Offload.drop('toolResults').when({ preserveRecent: 5 });
        await strategy.apply({ messages, agent: agent as never, utilization: 0 });
        return messages.flatMap((message, i) => (JSON.stringify(message).includes('[Dropped]') ? [i] : []));
      }),
    );
    expect(dropped.map(({ length }) => length)).toEqual([7, 8, 9]);
    expect(dropped[0]?.[0]).toBe(2);
  });
});

/** context-chef writes the same text over all three, as a success, and tells the model that the tools succeeded. */
describe('results that other libraries make alike', () => {
  it('stay errors, and say what they were', () => {
    const image = { type: 'image-data', data: PNG, mediaType: 'image/png' };
    const outputs = [
      { type: 'error-text', value: `Cannot read src/0.ts.\n${output(0)}` },
      { type: 'json', value: { rows: output(1).split('\n') } },
      { type: 'content', value: [{ type: 'text', text: output(2) }, image] },
      { type: 'text', value: output(3) },
    ];
    const history = outputs.flatMap((result, turn) => {
      const call = { toolCallId: `call_${turn}`, toolName: 'read' };
      return [
        { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { path: `src/${turn}.ts` } }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output: result }] },
      ];
    });
    const messages = [{ role: 'user', content: 'Fix the bug.' }, ...history];
    const policy = clearToolUses({ trigger: 0, keep: 1 });
    const { messages: sent } = fit(messages, { policy, format: aiSdk });
    expect(sent.filter(({ role }) => role === 'system')).toEqual([]);
    const results = sent.flatMap(({ role, content }) =>
      role === 'tool' ? [(content[0] as { output: (typeof outputs)[number] }).output] : [],
    );
    expect(results.map(({ type }) => type)).toEqual(['error-text', 'text', 'content', 'text']);
    expect(results.slice(0, 3).map(({ value }) => value)).toEqual([
      '[read failed: "Cannot read src/0.ts." — 8311 chars masked]',
      '[read src/1.ts: 1 line, 9100 chars masked]',
      [{ type: 'text', text: '[read src/2.ts: 1 file, 8385 chars masked]' }],
    ]);
  });
});
