import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { googleDriver } from './google-driver.ts';

for (const version of [2, 3] as const)
  for (const runner of ['generateContent', 'generateContentStream', 'a chat'] as const)
    adapterConformance({ describe, it, expect }, googleDriver(version, runner));
