import { useEffect, useState } from 'preact/hooks';

/** Copies a text, if the browser allows it. */
export function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  if (!navigator.clipboard) return null;
  const copy = (): void =>
    void navigator.clipboard
      .writeText(text)
      .then(() => setIsCopied(true))
      .catch(() => {});
  return (
    <button type="button" class="link-button" onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
