import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { anthropicDriver } from './anthropic-driver.ts';

for (const runner of ['toolRunner', 'toolRunner as a stream', 'messages.create', 'messages.stream'] as const)
  adapterConformance({ describe, it, expect }, anthropicDriver({ runner }));
