import { useState } from 'preact/hooks';
import { tokenIn } from './token.ts';

interface TokenFormProps {
  /** Why the last token was refused. */
  readonly refusal: string | undefined;
  readonly onToken: (token: string) => void;
}

/** Asks for the token. */
export function TokenForm({ refusal, onToken }: TokenFormProps) {
  const [text, setText] = useState('');
  const [isWrong, setIsWrong] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = tokenIn(text);
    setIsWrong(!token);
    if (token) onToken(token);
  };
  return (
    <main class="gate">
      <p class="product">Palimpsest gateway</p>
      <h1>This page needs the gateway’s token</h1>
      <p class="lead">
        <code>palimpsest serve</code> prints a link when it starts: open it, or paste it here. The token alone will do
        as well.
      </p>
      <form onSubmit={submit}>
        <label for="token">Link or token</label>
        <div class="field-row">
          <input
            id="token"
            type="text"
            class="field"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={text}
            aria-invalid={isWrong}
            aria-describedby="token-note"
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="action">
            Connect
          </button>
        </div>
        <p id="token-note" class={isWrong || refusal !== undefined ? 'note refusal' : 'note'} role="status">
          {isWrong && 'There is no token in this: it ends with #token=… in the link.'}
          {!isWrong && refusal}
          {!isWrong && refusal === undefined && 'It is kept in this tab only, until the tab is closed.'}
        </p>
      </form>
    </main>
  );
}
