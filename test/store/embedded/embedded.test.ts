import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../../src/store/open-store.ts';
import { storeConformance } from '../../../src/testing/store-conformance.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-store-'));
afterAll(() => rmSync(path, { recursive: true }));

storeConformance(
  { describe, it, expect },
  {
    name: 'embedded',
    keepsRecords: true,
    open: (tenant = 'default') => openStore({ path, tenant }),
    reopen: async (store, tenant) => {
      await store.close();
      return openStore({ path, tenant });
    },
  },
);
