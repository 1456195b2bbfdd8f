export { type ConformanceOptions, type Expect, storeConformance, type TestFunctions } from './store-conformance.ts';
