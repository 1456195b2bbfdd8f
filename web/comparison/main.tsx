import { render } from 'preact';
import type { Report } from '../../src/report/report.ts';
import { Comparison, Headline } from '../components/comparison.tsx';

const place = document.getElementById('page');
const data = document.getElementById('data')?.textContent?.trim();
if (place) render(data ? <Page report={JSON.parse(data) as Report} /> : <NoData />, place);

function Page({ report }: { readonly report: Report }) {
  return (
    <>
      <header>
        <p class="product">Palimpsest report</p>
        <Headline report={report} as="h1" />
      </header>
      <main>
        <Comparison report={report} />
      </main>
      <footer>
        <p class="note">
          Cost is that of input, at the tokens that the provider counted. Arms are chosen by chance for each session
          when it begins. The methods are described in docs/report.md of the package. No text of a conversation is in
          this page.
        </p>
      </footer>
    </>
  );
}

function NoData() {
  return (
    <main>
      <h1>No data</h1>
      <p class="empty">This is the page without its data. `palimpsest report --html` writes one that has them.</p>
    </main>
  );
}
