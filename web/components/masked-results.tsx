import { useState } from 'preact/hooks';
import type { MaskedResult } from '../../src/lab/replay-result.ts';
import { formatTokens } from '../format.ts';

const STEP = 20;

/** A line for each; opened, it shows what was sent beside what it hides. */
export function MaskedResults({ masked }: { readonly masked: readonly MaskedResult[] }) {
  const [shown, setShown] = useState(STEP);
  const more = Math.min(STEP, masked.length - shown);
  return (
    <div class="masked-list">
      {masked.slice(0, shown).map((result, index) => (
        <MaskedLine key={index} {...result} />
      ))}
      {more > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + STEP)}>
          Show {more} more of {masked.length}
        </button>
      )}
    </div>
  );
}

function MaskedLine({ request, turn, tool, tokens, placeholder, text }: MaskedResult) {
  return (
    <details class="masked">
      <summary>
        <span class="masked-turn">Turn {turn}</span>
        <span class="masked-tool">{tool || 'result'}</span>
        <span class="masked-tokens">{formatTokens(tokens)} tokens</span>
        <span class="masked-request">at request {request + 1}</span>
        <code class="masked-placeholder">{placeholder}</code>
      </summary>
      <div class="sides">
        <section aria-label="Sent instead">
          <h4>Sent instead</h4>
          <pre>{placeholder}</pre>
        </section>
        <section aria-label="Original, its beginning">
          <h4>Original, its beginning</h4>
          {text === '' ? <p class="empty">Empty.</p> : <pre>{text}</pre>}
        </section>
      </div>
    </details>
  );
}
