import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatTokens } from '../format.ts';

interface MaskedLineProps {
  readonly turn: number;
  readonly tool: string | undefined;
  readonly tokens: number;
  /** Why it is smaller, if it is not masked. */
  readonly how?: string | undefined;
  /** The request from which on it is masked, counted from 1, if it is known. */
  readonly request: number | undefined;
  readonly placeholder: string;
  /** The title of the original's side. */
  readonly title: string;
  /** The original, loaded when the line is opened. */
  readonly original: () => ComponentChildren;
}

/** A result that was masked or made smaller, in one line; opened, it shows the sent text next to the original. */
export function MaskedLine({ turn, tool, tokens, how, request, placeholder, title, original }: MaskedLineProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="masked" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span class="masked-turn">Turn {turn}</span>
        <span class="masked-tool">{tool || 'result'}</span>
        <span class="masked-tokens">{formatTokens(tokens)} tokens</span>
        <span class="masked-request">
          {how}
          {request !== undefined && ` at request ${request}`}
        </span>
        <code class="masked-placeholder">{placeholder}</code>
      </summary>
      {isOpen && (
        <div class="sides">
          <section aria-label="Sent instead">
            <h4>Sent instead</h4>
            <pre>{placeholder}</pre>
          </section>
          <section aria-label={title}>
            <h4>{title}</h4>
            {original()}
          </section>
        </div>
      )}
    </details>
  );
}
