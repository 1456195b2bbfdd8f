import { render } from 'preact';
import { type PackedPage, unpackPage } from '../../src/lab/packed-page.ts';
import { Report } from './report.tsx';

const place = document.getElementById('page');
const data = document.getElementById('data')?.textContent?.trim();
if (place) {
  render(data ? <Report page={unpackPage(JSON.parse(data) as PackedPage)} /> : <NoData />, place);
}

function NoData() {
  return (
    <main>
      <h1>No data</h1>
      <p class="empty">This is the page without its data. `palimpsest replay --html` writes one that has them.</p>
    </main>
  );
}
