import { expect, it } from 'vitest';
import { createMemoryStore } from '../../store/memory-store.ts';
import { Tenants } from './tenants.ts';

it('a store that could not be opened is opened again by the next request, also where the function throws at once', async () => {
  let calls = 0;
  const tenants = new Tenants(() => {
    calls += 1;
    if (calls === 1) throw new Error('not yet');
    return createMemoryStore();
  });
  await expect(tenants.gate('default')).rejects.toThrow('not yet');
  await expect(tenants.gate('default')).resolves.toBeDefined();
});
