import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  /** How to read it. */
  readonly note?: ComponentChildren;
  /** Shown in place of the contents. */
  readonly empty?: string | false | undefined;
  readonly children: ComponentChildren;
}

/** A part of the page under its title. */
export function Panel({ title, note, empty, children }: PanelProps) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {note && <p class="note">{note}</p>}
      {empty ? <p class="empty">{empty}</p> : children}
    </section>
  );
}
