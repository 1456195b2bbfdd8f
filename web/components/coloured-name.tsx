/** A name with a sample of its colour. */
export function ColouredName({ name, colour }: { readonly name: string; readonly colour: string }) {
  return (
    <span class="policy">
      <span class="swatch" style={{ background: colour }} aria-hidden="true" />
      {name}
    </span>
  );
}
