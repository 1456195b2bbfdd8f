import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { mastraDriver } from './mastra-driver.ts';

adapterConformance({ describe, it, expect }, mastraDriver({ version: 7, runner: 'generate' }));
adapterConformance({ describe, it, expect }, mastraDriver({ version: 7, runner: 'stream' }));
adapterConformance({ describe, it, expect }, mastraDriver({ version: 6, runner: 'generate' }));
adapterConformance({ describe, it, expect }, mastraDriver({ version: 5, runner: 'stream' }));
