import { describe, expect, it } from 'vitest';
import { breakEven, graduated, hybrid, never, slidingWindow, sweAgent } from '../index.ts';
import { createGateway } from './create-gateway.ts';
import { createFetchHandler } from './fetch-handler.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';

const check = (options: unknown) => () => checkGatewayOptions(options as GatewayOptions);

describe('the options of a gateway', () => {
  it.each([
    ['upstreams', 'http://127.0.0.1'],
    ['store', {}],
    ['isStoreShared', 'yes'],
    ['policy', 'break-even'],
    ['prices', 'cheap'],
    ['maxTokens', 0],
    ['boundThinking', 'drop'],
    ['token', 'short'],
    ['tenants', { short: 'a' }],
    ['tenants', { 'a-token-of-16-letters': '../../etc' }],
    ['tenants', { 'a-token-of-16-letters': '' }],
    ['tenants', { 'a-token-of-16-letters': 'a'.repeat(129) }],
    ['hosts', 'gateway.example'],
    ['hosts', ['']],
    ['hosts', ['https://gateway.example']],
    ['hosts', ['*.example']],
    ['origins', ['null']],
    ['origins', ['*']],
    ['origins', ['https://app.example/']],
    ['polcy', never()],
  ])('name %s where it is none that it could work with', (name, value) => {
    expect(check({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(name) }),
    );
  });

  it.each([
    ['policy', { step() {} }],
    ['policy', () => 5],
    ['policy', () => undefined],
    ['policy', async () => never()],
    ['policy', () => ({ step() {} })],
    ['mounts', { '/x': 5 }],
    ['mounts', { '/x': () => {}, '/y': null }],
    ['records', 5],
    ['records', null],
    ['records', { finish() {}, receipts() {} }],
  ])('name %s when the gateway is created, not at its first request', (name, value) => {
    const refusal = expect.objectContaining({
      code: 'BAD_OPTION',
      message: expect.stringContaining(`createGateway option ${name}`),
    });
    for (const create of [createGateway, createFetchHandler])
      expect(() => create({ [name]: value } as never)).toThrow(refusal);
  });

  it('refuse a token that a tenant has too, without showing it', () => {
    const token = 'a-token-of-16-letters';
    const thrown = expect.objectContaining({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/^(?!.*a-token).*acme/),
    });
    expect(check({ token, tenants: { [token]: 'acme' } })).toThrow(thrown);
    expect(check({ token, tenants: { [token]: 'default', 'another-token-of-16': 'acme' } })).not.toThrow();
  });

  it.each([
    ['hybrid', hybrid()],
    ['hybrid', () => hybrid()],
    ['graduated', graduated({ maxInputChars: 10_000 })],
  ])('refuse %s, which leaves messages out, and say what to take in its place', (name, policy) => {
    const text = expect.stringMatching(`masks, such as break-even.* found ${name}`);
    expect(check({ policy })).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: text }));
  });

  it('refuse old texts of edits, which work in the library and in sessions', () => {
    const text = expect.stringMatching('found break-even with old-texts=true.* library and in sessions only; leave');
    for (const policy of [breakEven({ oldTexts: true }), () => breakEven({ oldTexts: true })])
      expect(check({ policy })).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: text }));
  });

  it.each([
    ['break-even', breakEven()],
    ['break-even at any price', (prices: object) => breakEven({ prices: prices as never })],
    ['a window', slidingWindow({ turns: 3 })],
    ['a preset', sweAgent()],
    ['nothing', never()],
  ])('take %s', (_name, policy) => {
    expect(check({ policy })).not.toThrow();
  });
});
