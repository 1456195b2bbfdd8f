import { describe, expect, it } from 'vitest';
import { adapterConformance } from '../../src/testing/index.ts';
import { strandsDriver } from './strands-driver.ts';

adapterConformance({ describe, it, expect }, strandsDriver('middleware'));
adapterConformance({ describe, it, expect }, strandsDriver('strategy'));
