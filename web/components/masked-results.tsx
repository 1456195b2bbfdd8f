import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

const STEP = 20;

/** The first lines of a list of masked results, and more on request. */
export function MaskedResults({ lines }: { readonly lines: readonly ComponentChildren[] }) {
  const [shown, setShown] = useState(STEP);
  const more = Math.min(STEP, lines.length - shown);
  return (
    <div class="masked-list">
      {lines.slice(0, shown)}
      {more > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + STEP)}>
          Show {more} more of {lines.length}
        </button>
      )}
    </div>
  );
}
