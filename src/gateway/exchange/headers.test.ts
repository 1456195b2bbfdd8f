import { describe, expect, it } from 'vitest';
import { answerLimits } from '../../limits.ts';
import { answeredTrailers, forwardedHeaders, toAnswerHead } from './headers.ts';

describe('forwardedHeaders', () => {
  it('keeps order, spelling and repetition', () => {
    const raw = ['X-B', '1', 'x-a', '2', 'X-B', '3'];
    expect(forwardedHeaders(raw)).toEqual(raw);
  });

  it('keeps names that every object has', () => {
    const raw = ['constructor', '1', 'valueOf', '2'];
    expect(forwardedHeaders(raw, { 'anthropic-beta': '' })).toEqual(raw);
  });

  it('leaves out what belongs to the connection, also by name', () => {
    const raw = [
      'Connection',
      'close, X-Mine',
      'x-mine',
      '1',
      'TE',
      'trailers',
      'Host',
      'h',
      'Content-Length',
      '3',
      'x',
      '1',
    ];
    expect(forwardedHeaders(raw)).toEqual(['x', '1']);
  });

  it('replaces in place, leaves out, and adds', () => {
    const raw = ['Anthropic-Beta', 'a', 'Content-Encoding', 'gzip', 'anthropic-beta', 'b', 'x', '1'];
    const changes = { 'anthropic-beta': 'a,b,c', 'content-encoding': '', 'x-new': '2' };
    expect(forwardedHeaders(raw, changes)).toEqual(['Anthropic-Beta', 'a,b,c', 'x', '1', 'x-new', '2']);
  });
});

const head = { status: 200, reason: 'OK', headers: [] };

describe('toAnswerHead', () => {
  it('keeps all but what belongs to the connection, byte for byte', () => {
    const raw = ['Server', 'caf\u00e9', 'Transfer-Encoding', 'chunked', 'Set-Cookie', 'a', 'Set-Cookie', 'b'];
    const bytes = raw.map((text) => Buffer.from(text, 'latin1'));
    const { headers } = toAnswerHead({ ...head, headers: bytes }, true);
    expect(headers).toEqual(['Server', 'caf\u00e9', 'Set-Cookie', 'a', 'Set-Cookie', 'b']);
  });

  it('leaves out characters that no header line can hold, and names that are none', () => {
    const headers = ['a', '1\r\nx: 2\u0000', 'b\r\nc', '1', 'd e', '1', '', '1'];
    expect(toAnswerHead({ ...head, headers }, true).headers).toEqual(['a', '1x: 2']);
  });

  it.each([
    ['OK', 'OK'],
    ['', ''],
    ['Fait \u00e0 Paris \u{1f389}', Buffer.from('Fait \u00e0 Paris \u{1f389}').toString('latin1')],
    ['a\u0001b\u007fc\r\nx: 1', 'abcx: 1'],
    ['x'.repeat(5000), 'x'.repeat(answerLimits.reasonChars)],
  ])('writes the reason %j as bytes of one line', (reason, written) => {
    expect(toAnswerHead({ ...head, reason }, true).reason).toBe(written);
  });

  it('announces trailers only where they can follow', () => {
    const announced = ['Trailer', 'X-Sum'];
    expect(toAnswerHead({ ...head, headers: announced }, true).headers).toEqual(announced);
    expect(toAnswerHead({ ...head, headers: announced }, false).headers).toEqual([]);
    const withLength = ['Content-Length', '5', ...announced];
    expect(toAnswerHead({ ...head, headers: withLength }, true).headers).toEqual(['Content-Length', '5']);
  });
});

describe('answeredTrailers', () => {
  it('hold no field that frames a message', () => {
    expect(answeredTrailers(['X-Sum', '1', 'Content-Length', '9', 'Transfer-Encoding', 'chunked'])).toEqual([
      'X-Sum',
      '1',
    ]);
  });
});
