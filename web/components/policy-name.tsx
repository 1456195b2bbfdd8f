/** A policy with its colour. */
export function PolicyName({ name, colour }: { readonly name: string; readonly colour: string }) {
  return (
    <span class="policy">
      <span class="swatch" style={{ background: colour }} aria-hidden="true" />
      {name}
    </span>
  );
}
