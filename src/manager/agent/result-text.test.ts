import { describe, expect, it } from 'vitest';
import { errorText, resultText } from './result-text.ts';

describe('resultText', () => {
  it('is a text as it is, data as JSON, nothing for nothing', () => {
    expect(resultText('plain "text"')).toBe('plain "text"');
    expect(resultText({ a: [1] })).toBe('{"a":[1]}');
    expect(resultText(undefined)).toBe('');
  });

  it('is the text of bytes, not a list of numbers', () => {
    expect(resultText(Buffer.from('Grüß dich 🌍'))).toBe('Grüß dich 🌍');
    expect(resultText(new Uint8Array())).toBe('');
  });

  it('throws what cannot be a text: bytes of no text, and errors that were answered', () => {
    expect(() => resultText(new Uint8Array([0x89, 0x50, 0xff]))).toThrow(/3 bytes that are none/);
    expect(() => resultText(new Error('no such file'))).toThrow('no such file');
  });
});

describe('errorText', () => {
  it('is what an error says, or else what those inside it say, or its name', () => {
    expect(errorText(new Error('disk on fire'))).toBe('disk on fire');
    expect(errorText(new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]))).toBe(
      '::1 refused; 127.0.0.1 refused',
    );
    expect(errorText(new TypeError())).toBe('TypeError');
  });

  it('is what was thrown where that is no error', () => {
    expect(errorText({ code: 7, message: 'no' })).toBe('{"code":7,"message":"no"}');
    expect(errorText('no')).toBe('no');
    expect(errorText(undefined)).toBe('undefined');
  });
});
