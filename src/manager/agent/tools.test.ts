import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ToolCall, ToolResult } from '../tool-call.ts';
import { readCall } from './model.ts';
import { createToolbox, defineTool, prepareCall, runCall, type Tool } from './tools.ts';

const add = defineTool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  run: ({ a, b }) => a + b,
});

const callOf = (name: string, args: unknown = {}): ToolCall => ({ id: 'c1', name, arguments: args });

async function answer(tool: Tool, call: ToolCall, options: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  const { signal = new AbortController().signal, timeoutMs = 0 } = options;
  return runCall(await prepareCall(createToolbox([tool]), call), { signal, timeoutMs });
}

const textOf = async (result: Promise<ToolResult>): Promise<string> => (await result).text;

describe('a tool', () => {
  it('is described by the JSON schema that its own schema writes', () => {
    expect(createToolbox([add]).definitions).toEqual([
      {
        name: 'add',
        description: 'adds',
        parameters: expect.objectContaining({ type: 'object', required: ['a'], properties: expect.anything() }),
      },
    ]);
  });

  it('gets arguments that its schema has read, defaults included', async () => {
    expect(await answer(add, callOf('add', { a: 2 }))).toMatchObject({ text: '3', isError: false });
  });

  it('may take a plain JSON schema, or none', () => {
    const schema = { type: 'object', properties: { path: { type: 'string' } } };
    const plain: Tool = { name: 'read', parameters: schema, run: () => '' };
    const bare: Tool = { name: 'now', run: () => '' };
    const [first, second] = createToolbox([plain, bare]).definitions;
    expect(first?.parameters).toBe(schema);
    expect(second?.parameters).toEqual({ type: 'object', properties: {} });
  });

  it('answers a text as it is, data as JSON, nothing as nothing', async () => {
    const give = (value: unknown): Tool => ({ name: 'give', run: () => value });
    expect(await textOf(answer(give('plain "text"'), callOf('give')))).toBe('plain "text"');
    expect(await textOf(answer(give({ a: [1] }), callOf('give')))).toBe('{"a":[1]}');
    expect(await textOf(answer(give(undefined), callOf('give')))).toBe('');
  });
});

describe('what goes wrong with a call is a result', () => {
  it('unknown tool, with the nearest right one', async () => {
    expect(await answer(add, callOf('ad'))).toMatchObject({
      text: 'Error: there is no tool ad; did you mean add?',
      isError: true,
    });
  });

  it('arguments that the schema refuses', async () => {
    expect(await textOf(answer(add, callOf('add', { a: 'two' })))).toBe(
      'Error: the arguments of add are not what it takes: a: Invalid input: expected number, received string',
    );
  });

  it('arguments at which a check of the user throws', async () => {
    const parameters = z.object({ path: z.string() }).refine(({ path }) => new URL(path).host !== '');
    const fetch: Tool = defineTool({ name: 'fetch', parameters, run: () => 'fetched' });
    expect(await textOf(answer(fetch, callOf('fetch', { path: 'nowhere' })))).toBe(
      'Error: the arguments of fetch are not what it takes: Invalid URL',
    );
  });

  it('arguments that are no JSON', async () => {
    const call = readCall({ id: 'c1', name: 'add', arguments: '{"a": 1' });
    expect(await textOf(answer(add, call))).toMatch(/^Error: expected the arguments of add as JSON but found: /);
  });

  it.each([
    ['thrown', () => Promise.reject(new Error('disk on fire'))],
    [
      'thrown at once',
      () => {
        throw new Error('disk on fire');
      },
    ],
  ])('an error that is %s', async (_how, run) => {
    expect(await answer({ name: 'burn', run }, callOf('burn'))).toMatchObject({
      text: 'Error: disk on fire',
      isError: true,
    });
  });

  it('a result that cannot be written down', async () => {
    expect((await answer({ name: 'big', run: () => 10n }, callOf('big'))).isError).toBe(true);
  });

  it('a tool that takes too long: it is told to stop, and not waited for', async () => {
    let told = false;
    const slow: Tool = {
      name: 'slow',
      run: (_args, { signal }) => {
        signal.addEventListener('abort', () => {
          told = true;
        });
        return new Promise(() => {});
      },
    };
    expect(await textOf(answer(slow, callOf('slow'), { timeoutMs: 10 }))).toBe(
      'Error: slow did not finish within 10 ms and was stopped',
    );
    expect(told).toBe(true);
  });

  it('a limit longer than any timer is no limit of nothing', async () => {
    const run = () => new Promise((resolve) => setTimeout(() => resolve('done'), 20));
    expect(await textOf(answer({ name: 'slow', run }, callOf('slow'), { timeoutMs: 2 ** 40 }))).toBe('done');
  });

  it('a tool whose own limit is longer than that of the run has the time it asks for', async () => {
    const run = () => new Promise((resolve) => setTimeout(() => resolve('done'), 30));
    expect(await textOf(answer({ name: 'slow', timeoutMs: 0, run }, callOf('slow'), { timeoutMs: 5 }))).toBe('done');
  });

  it('no timer outlives its call', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await answer(add, callOf('add', { a: 1 }), { timeoutMs: 600_000 });
    expect(timers()).toBe(before);
  });

  it('a run that is aborted', async () => {
    const controller = new AbortController();
    const stuck: Tool = {
      name: 'stuck',
      run: () => {
        controller.abort();
        return new Promise(() => {});
      },
    };
    const aborted = await answer(stuck, callOf('stuck'), { signal: controller.signal });
    expect(aborted.text).toBe('Error: the run was aborted before this call had finished');
    expect((await answer(add, callOf('add', { a: 1 }), { signal: controller.signal })).isError).toBe(true);
  });
});

describe('createToolbox refuses', () => {
  it.each([
    ['a name that providers refuse', [{ name: 'read file', run: () => '' }]],
    ['two tools of one name', [add, add]],
    ['a limit that is none', [{ name: 'x', timeoutMs: Number.NaN, run: () => '' }]],
    ['parameters that are no schema', [{ name: 'x', parameters: null as never, run: () => '' }]],
    ['a tool without run', [{ name: 'x' } as unknown as Tool]],
  ])('%s', (_what, tools) => {
    expect(() => createToolbox(tools)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  it('a schema that cannot say what it takes', () => {
    const mute = { '~standard': { version: 1, vendor: 'mute', validate: (value: unknown) => ({ value }) } } as const;
    expect(() => createToolbox([{ name: 'x', parameters: mute, run: () => '' }])).toThrow(/JSON schema.*'mute'/);
  });
});

describe('readCall', () => {
  it('takes no arguments for an empty object', () => {
    for (const given of ['', ' ', undefined, null, 'null', '{}'])
      expect(readCall({ id: 'a', name: 'b', arguments: given }).arguments).toEqual({});
  });

  it('leaves data as it is', () => {
    const data = { a: 1 };
    expect(readCall({ id: 'a', name: 'b', arguments: data }).arguments).toBe(data);
  });
});
