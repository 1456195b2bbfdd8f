import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { googleDriver } from './google-driver.ts';

for (const runner of ['generateContent', 'generateContentStream', 'a chat'] as const)
  adapterConformance({ describe, it, expect }, googleDriver(runner));
