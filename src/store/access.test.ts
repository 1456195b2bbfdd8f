import { describe, expect, it } from 'vitest';
import {
  type Caller,
  checkHandle,
  conversationId,
  credentialOf,
  mayList,
  openScope,
  ownerOf,
  refsInScope,
  sessionOf,
} from './access.ts';
import { handleOf } from './handle.ts';
import { createMemoryStore } from './memory-store.ts';

const PUBLIC = 'the licence text that every repository has';

/** Two users with the same first message, an older conversation without an owner, and a session of a program. */
async function shared() {
  const store = createMemoryStore();
  const secret = (await store.secret()) as string;
  const sessionFor = (key: string | undefined, prefix = 'same') =>
    sessionOf(conversationId(prefix, key === undefined ? undefined : ownerOf(secret, key)));
  const sessions = { ann: sessionFor('key-ann'), bob: sessionFor('key-bob'), old: sessionFor(undefined) };
  for (const session of [...Object.values(sessions), 'program']) {
    await store.put(PUBLIC, { session, turn: 1 });
    await store.put(`only in ${session}`, { session, turn: 2 });
  }
  const open = async (caller: Caller, handle?: string) => (await openScope(store, caller, handle)).sessions;
  return { store, sessions, sessionFor, open };
}

describe('openScope', () => {
  it('opens for a credential the conversation that was sent with it, and no other that holds the handle', async () => {
    const { sessions, open } = await shared();
    expect(await open({ credential: 'key-ann' }, handleOf(PUBLIC))).toEqual([sessions.ann]);
    expect(await open({ credential: 'key-bob' }, handleOf(PUBLIC))).toEqual([sessions.bob]);
    await expect(open({ credential: 'key-eve' }, handleOf(PUBLIC))).rejects.toThrow('opens no session here');
    await expect(open({ credential: 'key-ann' }, handleOf(`only in ${sessions.bob}`))).rejects.toThrow(
      'opens no session here',
    );
  });

  it('answers for a session that may not be seen like for one that does not exist', async () => {
    const { sessions, open } = await shared();
    const said = async (caller: Caller, handle: string): Promise<string> => {
      const error = await open(caller, handle).then(String, ({ code, message }) => `${code} ${message}`);
      return error.replaceAll(handle, 'HANDLE');
    };
    const unknown = `p_${'a'.repeat(26)}`;
    for (const caller of [{ credential: 'key-ann' }, { session: sessions.ann }])
      expect(await said(caller, handleOf(`only in ${sessions.bob}`))).toBe(await said(caller, unknown));
  });

  it('takes of several conversations of a credential the one that recorded the text last', async () => {
    const { store, sessionFor, open } = await shared();
    await store.put(PUBLIC, { session: sessionFor('key-ann', 'later'), turn: 7 });
    expect(await open({ credential: 'key-ann' }, handleOf(PUBLIC))).toEqual([sessionFor('key-ann', 'later')]);
  });

  it('opens nothing for an owner that a caller names in the place of a credential', async () => {
    const { sessions, open } = await shared();
    const owner = sessions.bob.split('-').at(-1) as string;
    for (const credential of [owner, `-${owner}`, sessions.bob, ''])
      await expect(open({ credential }, handleOf(PUBLIC))).rejects.toThrow('opens no session here');
  });

  it('opens for a pin its own session only, also without a handle', async () => {
    const { sessions, open } = await shared();
    for (const session of [sessions.old, sessions.ann, 'program']) {
      expect(await open({ session })).toEqual([session]);
      expect(await open({ session }, handleOf(PUBLIC))).toEqual([session]);
    }
  });

  it('opens with the whole store every session that holds the handle, also those from before there were owners', async () => {
    const { sessions, open } = await shared();
    expect(await open({ wholeStore: true }, handleOf(PUBLIC))).toEqual([...Object.values(sessions), 'program']);
    await expect(open({ wholeStore: true })).rejects.toThrow('Expected a handle');
    await expect(open({ credential: 'key-ann' })).rejects.toThrow('Expected a handle');
  });

  it('refuses a caller that shows nothing, and names the three ways', async () => {
    const { open } = await shared();
    for (const caller of [{}, { wholeStore: false }, { session: undefined, credential: undefined }]) {
      expect(mayList(caller)).toBe(false);
      const error = await open(caller, handleOf(PUBLIC)).catch((error) => error);
      expect(error).toMatchObject({ code: 'BAD_OPTION' });
      for (const way of ['--session', 'x-palimpsest-credential', '--credential-env', '--whole-store'])
        expect(error.message).toContain(way);
    }
  });

  it('opens nothing for a credential where the store has no secret yet', async () => {
    const { store } = await shared();
    const reader = Object.assign(Object.create(store), {
      get: (handle: string) => store.get(handle),
      secret: async () => undefined,
    });
    await expect(openScope(reader, { credential: 'key-ann' }, handleOf(PUBLIC))).rejects.toThrow('opens no session');
  });
});

describe('ownerOf', () => {
  it('names a credential the same every time, another way in every store, and never by a part of itself', () => {
    const owner = ownerOf('a'.repeat(64), 'sk-ant-secret');
    expect(owner).toBe(ownerOf('a'.repeat(64), 'sk-ant-secret'));
    expect(owner).toMatch(/^[0-9a-f]{32}$/);
    expect(ownerOf('b'.repeat(64), 'sk-ant-secret')).not.toBe(owner);
    expect(ownerOf('a'.repeat(64), 'sk-ant-secret ')).not.toBe(owner);
    expect(sessionOf(conversationId('f'.repeat(32), owner)).length).toBeLessThanOrEqual(128);
  });
});

describe('credentialOf', () => {
  const gateway = { hasAuthorization: true };

  it.each([
    [{ 'x-api-key': 'k' }, 'k'],
    [{ authorization: 'Bearer k' }, 'k'],
    [{ authorization: 'bearer  k' }, 'k'],
    [{ authorization: 'Basic a2V5' }, 'a2V5'],
    [{ 'x-goog-api-key': 'k' }, 'k'],
    [{ 'api-key': ' k ' }, 'k'],
    [{ 'x-api-key': 'k', authorization: 'Bearer other' }, 'k'],
    [{ 'x-api-key': '', authorization: 'Bearer other' }, 'other'],
    [{ 'x-palimpsest-credential': 'mine', 'x-api-key': 'k' }, 'mine'],
    [{}, undefined],
    [{ authorization: 'Bearer' }, undefined],
    // Signed: another one in every request.
    [{ authorization: 'AWS4-HMAC-SHA256 Credential=AKIA/20261116/us-east-1, Signature=1f2e' }, undefined],
  ])('of %j is %j', (headers, credential) => {
    expect(credentialOf(headers, gateway)).toBe(credential);
  });

  it('is in the address of a request to Gemini', () => {
    expect(credentialOf({}, { ...gateway, target: '/v1beta/models/m:generateContent?alt=sse&key=k%2B1' })).toBe('k+1');
    expect(credentialOf({}, { ...gateway, target: '/v1beta/models/m:generateContent?alt=sse' })).toBe(undefined);
  });

  it('is never the token of our own server', () => {
    const headers = { authorization: 'Bearer of-the-gateway' };
    expect(credentialOf(headers, { hasAuthorization: false })).toBe(undefined);
    expect(credentialOf({ ...headers, 'x-api-key': 'k' }, { hasAuthorization: false })).toBe('k');
  });
});

describe('checkHandle', () => {
  it.each([
    '../../etc/passwd',
    `p_${'../'.repeat(9)}`.slice(0, 28),
    'p_\0'.padEnd(28, 'a'),
    `p_${'a'.repeat(26)}\n`,
    'p_'.repeat(1_000_000),
    '',
  ])('refuses what is none, in one short line', (handle) => {
    expect(() => checkHandle(handle)).toThrow(/^Expected a handle [\x20-\x7e]{1,400}$/);
  });
});

describe('refsInScope', () => {
  it('shows no reference of another session, and none without a session', () => {
    const refs = [{ session: 'mine', turn: 1 }, { session: 'yours', turn: 2 }, { turn: 3 }];
    expect(refsInScope(refs, { sessions: ['mine'] })).toEqual([{ session: 'mine', turn: 1 }]);
  });
});
