import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readPriceFile } from './price-file.ts';

const read = (text: string) => readPriceFile('prices.yaml', { readFile: async () => text });

describe('readPriceFile', () => {
  it('reads JSON and YAML, with fields in snake_case or camelCase', async () => {
    const long = { tokens: 100, input: 1, output: 2, cacheRead: 3 };
    const expected = { 'my-model': { input: 1, output: 2, cacheRead: 0.1, above: [long] }, 'claude-*': 'subscription' };
    expect(await read(JSON.stringify(expected))).toEqual(expected);
    const yaml = [
      'my-model:',
      '  input: 1',
      '  output: 2',
      '  cache_read: 0.1',
      '  above: [{ tokens: 100, input: 1, output: 2, cache_read: 3 }]',
      'claude-*: subscription',
    ];
    expect(await read(yaml.join('\n'))).toEqual(expected);
  });

  it('reads the examples of docs/money.md', async () => {
    const page = readFileSync(new URL('../../docs/money.md', import.meta.url), 'utf8');
    const examples = [...page.matchAll(/^```(?:yaml|json)\n(.*?)^```/gms)].map(([, text = '']) => text);
    const models = await Promise.all(examples.map(async (text) => Object.keys(await read(text)).length));
    expect(models).toEqual([4, 2]);
  });

  it('takes an empty file for no own prices', async () => {
    expect(await read('# later\n')).toEqual({});
  });

  it.each([
    ['{', 'BAD_INPUT', 'prices.yaml: line 1: Expected JSON or YAML but found: '],
    ['a: 1\na: 2', 'BAD_INPUT', 'prices.yaml: line 2: Expected JSON or YAML but found: Map keys must be unique'],
    [
      '- a',
      'BAD_OPTION',
      'prices.yaml: Expected model prices to be an object with a price for each model but found a list of 1',
    ],
    ['my-model: free', 'BAD_OPTION', "prices.yaml: Expected the price of my-model to be 'subscription', or an object"],
    [
      'my-model: { input: 3 }',
      'BAD_OPTION',
      'Expected the price of my-model option output to be a number of 0 or more',
    ],
    ['my-model: { input: 3, output: 9, cache_reed: 1 }', 'BAD_OPTION', 'did you mean cache_read?'],
  ])('says what is wrong in %j', async (text, code, message) => {
    await expect(read(text)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('says which file it cannot read', async () => {
    const readFile = async (): Promise<string> => Promise.reject(new Error('ENOENT: no such file'));
    const found = readPriceFile('gone.json', { readFile });
    await expect(found).rejects.toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('gone.json') });
  });
});
