import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { deepAgentDriver, graphDriver, invokeDriver, streamDriver } from './langchain-driver.ts';

for (const driver of [invokeDriver, streamDriver, deepAgentDriver, graphDriver])
  adapterConformance({ describe, it, expect }, driver);
