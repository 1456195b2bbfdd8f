import { describe, expect, it } from 'vitest';
import { answeredHeaders, forwardedHeaders } from './headers.ts';

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

  it('replaces where it stands, leaves out, and adds', () => {
    const raw = ['Anthropic-Beta', 'a', 'Content-Encoding', 'gzip', 'anthropic-beta', 'b', 'x', '1'];
    const changes = { 'anthropic-beta': 'a,b,c', 'content-encoding': '', 'x-new': '2' };
    expect(forwardedHeaders(raw, changes)).toEqual(['Anthropic-Beta', 'a,b,c', 'x', '1', 'x-new', '2']);
  });
});

describe('answeredHeaders', () => {
  it('keeps all but what belongs to the connection, byte for byte', () => {
    const raw = ['Server', 'caf\u00e9', 'Transfer-Encoding', 'chunked', 'Set-Cookie', 'a', 'Set-Cookie', 'b'];
    const bytes = raw.map((text) => Buffer.from(text, 'latin1'));
    expect(answeredHeaders(bytes)).toEqual(['Server', 'caf\u00e9', 'Set-Cookie', 'a', 'Set-Cookie', 'b']);
  });
});
