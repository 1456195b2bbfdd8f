import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { chatDriver, responsesDriver } from './openai-driver.ts';

adapterConformance({ describe, it, expect }, chatDriver({ version: 6, stream: false }));
adapterConformance({ describe, it, expect }, chatDriver({ version: 7, stream: true }));
adapterConformance({ describe, it, expect }, responsesDriver({ version: 6, stream: true }));
adapterConformance({ describe, it, expect }, responsesDriver({ version: 7, stream: false }));
