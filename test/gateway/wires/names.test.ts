import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apis, wires } from '../../../src/gateway/wire/index.ts';
import { ROOT } from '../../support/modules.ts';

const GATEWAY = join(ROOT, 'src/gateway');

/** The words of the names of all APIs, and of the providers and formats that they name. */
const names = new Set(apis.flatMap((api) => [api, wires[api].home.name, wires[api].format.name]).flatMap(wordsOf));

function wordsOf(name: string): string[] {
  return name.split('-').filter((word) => !['chat', 'responses'].includes(word));
}

describe('src/gateway', () => {
  it('names an API in no file outside wire/', () => {
    expect([...names]).toEqual(expect.arrayContaining(['anthropic', 'openai', 'gemini', 'ollama', 'azure', 'vertex']));
    const pattern = new RegExp([...names].join('|'), 'i');
    const files = readdirSync(GATEWAY, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !/\.test(?:-data)?\.ts$/.test(file) && !file.startsWith('wire'),
    );
    expect(files.length).toBeGreaterThan(20);
    const found = files.flatMap((file) =>
      readFileSync(join(GATEWAY, file), 'utf8')
        .split('\n')
        .flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1} ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });
});
