import { describe, expect, it } from 'vitest';
import { sampleLogs } from '../../../test/support/logs/logs.ts';
import { detectRunFormat, logReaders } from './detect-run-format.ts';

describe('the sample logs', () => {
  it('are of every format', () => {
    expect(new Set(sampleLogs.map(({ format }) => format))).toEqual(new Set(logReaders.map(({ format }) => format)));
  });
});

describe('detectRunFormat', () => {
  it.each([{}, { a: 1 }, { type: 'x' }, { messages: [] }, { messages: 1 }, { history: [{}] }, { message: {} }])(
    'knows nothing of %j',
    (record) => expect(detectRunFormat(record)).toBeUndefined(),
  );
});
