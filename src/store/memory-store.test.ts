import { describe, expect, it } from 'vitest';
import { storeConformance } from '../testing/store-conformance.ts';
import { createMemoryStore } from './memory-store.ts';

storeConformance(
  { describe, it, expect },
  { name: 'memory', keepsRecords: true, open: async (tenant = 'default') => createMemoryStore({ tenant }) },
);

describe('createMemoryStore', () => {
  it('refuses a tenant that could not be one elsewhere', () => {
    expect(() => createMemoryStore({ tenant: '../other' })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  it('says that it is in memory', async () => {
    expect(await createMemoryStore().stats()).toEqual({
      kind: 'memory',
      texts: 0,
      turns: 0,
      notes: 0,
      records: 0,
      sessions: 0,
      textBytes: 0,
      usedBytes: 0,
      weekBytes: 0,
    });
  });
});
