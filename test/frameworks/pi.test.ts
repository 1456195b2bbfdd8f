import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { piDriver } from './pi-driver.ts';

adapterConformance({ describe, it, expect }, piDriver);
