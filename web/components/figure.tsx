import * as Plot from '@observablehq/plot';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface FigureProps {
  /** The text for screen readers. */
  readonly label: string;
  /** Draws the plot at this width in pixels. */
  readonly draw: (width: number) => Plot.PlotOptions;
  /** A click, with the datum under the pointer. */
  readonly onPick?: (datum: unknown) => void;
}

/** A plot that fills the width of its container. */
export function Figure({ label, draw, onPick }: FigureProps) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);

  useEffect(() => {
    if (!place.current || width === 0) return;
    const plot = Plot.plot({ ...draw(width), width, ariaLabel: label, className: 'plot' });
    // A strict content security policy forbids inline styles. style.css has these rules.
    plot.querySelector('style')?.remove();
    plot.setAttribute('role', 'img');
    const pick = (): void => {
      if (plot.value) onPick?.(plot.value);
    };
    plot.addEventListener('click', pick);
    place.current.replaceChildren(plot);
  });

  return <div ref={place} class={onPick ? 'figure pickable' : 'figure'} />;
}

function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (!place.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [place]);
  return width;
}
