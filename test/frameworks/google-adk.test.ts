import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { adkDriver } from './google-adk-driver.ts';

adapterConformance({ describe, it, expect }, adkDriver());
