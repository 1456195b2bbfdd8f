import { expect, it } from 'vitest';
import { samplePage } from '../../test/support/browser/sample-page.ts';
import { packPage, unpackPage } from './packed-page.ts';

it('packPage loses nothing', () => {
  const page = samplePage({ runs: 3 });
  expect(unpackPage(JSON.parse(JSON.stringify(packPage(page))))).toEqual(page);
});

it('packPage keeps every text once, however many policies mask it', () => {
  const { texts } = packPage(samplePage({ runs: 3 }));
  expect(texts.length).toBeGreaterThan(50);
  expect(new Set(texts).size).toBe(texts.length);
});
