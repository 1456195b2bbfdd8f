import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { openaiAgentsDriver } from './openai-agents-driver.ts';

adapterConformance({ describe, it, expect }, openaiAgentsDriver({ door: 'filter', stream: false }));
adapterConformance({ describe, it, expect }, openaiAgentsDriver({ door: 'withSession', stream: false }));
adapterConformance({ describe, it, expect }, openaiAgentsDriver({ door: 'withSession', stream: true }));
