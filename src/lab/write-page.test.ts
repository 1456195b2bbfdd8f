import { beforeAll, expect, it } from 'vitest';
import { HOSTILE, samplePage } from '../../test/support/browser/sample-page.ts';
import { ensureBuilt } from '../../test/support/modules.ts';
import { unpackPage } from './packed-page.ts';
import { writePage } from './write-page.ts';

beforeAll(ensureBuilt);

const OPENING = '<script type="application/json" id="data">';
const page = samplePage({ runs: 3 });
/** The data as an HTML parser reads it: everything up to the first end of the element. */
const dataOf = (html: string): string => html.split(OPENING)[1]?.split('</script>')[0] ?? '';

it('writes data that are read back as they were, hostile texts too', () => {
  const data = dataOf(writePage(page));
  expect(unpackPage(JSON.parse(data))).toEqual(page);
  expect(JSON.stringify(page)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
});

it('leaves nothing in the data that HTML or JavaScript could take for its own', () => {
  expect(dataOf(writePage(page))).not.toMatch(/[<\u2028\u2029]/);
});

it('has one place for data, and nothing that is loaded from elsewhere', () => {
  const html = writePage({ result: { ...page.result, runs: [], skipped: [] }, details: [] });
  expect(html.split(OPENING)).toHaveLength(2);
  expect(html).toContain(`http-equiv="Content-Security-Policy" content="default-src 'none';`);
  expect(html).not.toMatch(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:,")/);
  expect(html).not.toMatch(/@import|url\((?!#)|\beval\(|new Function/);
});
