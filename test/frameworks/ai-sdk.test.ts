import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { aiSdkDriver } from './ai-sdk-driver.ts';

for (const version of [6, 7] as const) {
  adapterConformance({ describe, it, expect }, aiSdkDriver({ version, door: 'prepareStep', runner: 'generateText' }));
  adapterConformance({ describe, it, expect }, aiSdkDriver({ version, door: 'prepareStep', runner: 'streamText' }));
  adapterConformance({ describe, it, expect }, aiSdkDriver({ version, door: 'middleware', runner: 'generateText' }));
}
