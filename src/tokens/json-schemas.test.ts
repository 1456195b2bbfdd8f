import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fit } from '../index.ts';

/** The tokens that a tool with this schema adds to a request. */
const sizeOf = (inputSchema: unknown): number =>
  fit([{ role: 'user', content: 'Go.' }], { tools: { read: { description: 'Reads.', inputSchema } } }).report.tokens
    .before;

describe('tools with schemas of a library', () => {
  it('count as the JSON schema that is sent', () => {
    const schema = z.object({ path: z.string().max(100).describe('word '.repeat(1000)) });
    expect(sizeOf(schema)).toBe(sizeOf(z.toJSONSchema(schema, { target: 'draft-7', io: 'input' })));
    expect(sizeOf(schema)).toBeGreaterThan(1000);
  });

  it('count also where the schema is a function', () => {
    const jsonSchema = { input: () => ({ type: 'string', description: 'word '.repeat(1000) }) };
    expect(sizeOf(Object.assign(() => 1, { '~standard': { jsonSchema } }))).toBeGreaterThan(1000);
  });

  it('count as they are where JSON cannot express them', () => {
    expect(sizeOf(z.object({ when: z.date() }))).toBeGreaterThan(0);
  });
});
