import { useState } from 'preact/hooks';
import { Choice } from '../components/choice.tsx';
import { formatBytes, formatCount, formatPlural } from '../format.ts';
import { CopyButton } from './copy-button.tsx';
import type { GatewayApi, Part, RecalledText } from './gateway-api.ts';
import { useAnswer } from './hooks.ts';

interface RecalledProps {
  readonly api: GatewayApi;
  readonly handle: string;
  /** The part that is shown at first. */
  readonly start: Part;
  /** A highlighted line. */
  readonly line?: number;
  /** Shows the exact original, if the text was made smaller when it was first sent. */
  readonly isOriginal?: boolean;
}

const KINDS = [
  { value: 'all', text: 'the whole text' },
  { value: 'head', text: 'its first lines' },
  { value: 'tail', text: 'its last lines' },
  { value: 'lines', text: 'lines' },
] as const;

/** The text behind a handle, or some of its lines. Always shown as plain text. */
export function Recalled({ api, handle, start, line, isOriginal = false }: RecalledProps) {
  const [part, setPart] = useState(start);
  const { value, failure, isWaiting } = useAnswer(`${handle} ${JSON.stringify(part)}`, (signal) =>
    api.masked(handle, part, { isOriginal, signal }),
  );
  return (
    <div class="recalled" aria-busy={isWaiting}>
      <div class="recall-bar">
        <Choice
          label="Show"
          value={part.kind}
          options={KINDS}
          onChoose={(kind) => setPart(partOf(kind, value, line))}
        />
        <Numbers part={part} onPart={setPart} />
        {value && <CopyButton text={value.text} />}
      </div>
      {failure !== undefined && <p class="empty">{failure}</p>}
      {failure === undefined && !value && <p class="empty">On its way…</p>}
      {value && <Text recalled={value} part={part} line={line} />}
    </div>
  );
}

function Numbers({ part, onPart }: { readonly part: Part; readonly onPart: (part: Part) => void }) {
  if (part.kind === 'all') return null;
  if (part.kind !== 'lines') {
    return <LineNumber label="How many lines" value={part.lines} onChange={(lines) => onPart({ ...part, lines })} />;
  }
  const { from, to } = part;
  return (
    <>
      <LineNumber label="From line" value={from} onChange={(n) => onPart({ ...part, from: n, to: Math.max(n, to) })} />
      <span class="note">to</span>
      <LineNumber label="To line" value={to} onChange={(n) => onPart({ ...part, from: Math.min(n, from), to: n })} />
    </>
  );
}

interface LineNumberProps {
  readonly label: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}

/** Keeps the typed text, whatever arrives meanwhile. */
function LineNumber({ label, value, onChange }: LineNumberProps) {
  const [typed, setTyped] = useState<string>();
  const commit = (text: string): void => {
    setTyped(undefined);
    onChange(Math.max(1, Math.floor(Number(text)) || 1));
  };
  return (
    <input
      type="number"
      class="field line-number"
      aria-label={label}
      min={1}
      value={typed ?? value}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => commit(event.currentTarget.value)}
    />
  );
}

interface TextProps {
  readonly recalled: RecalledText;
  readonly part: Part;
  readonly line: number | undefined;
}

function Text({ recalled, part, line }: TextProps) {
  const { handle, text, lines, bytes, truncated } = recalled;
  const size = `${formatPlural(lines, 'line')}, ${formatBytes(bytes)}`;
  const [before, pointed, after] = pointOut(text, part.kind === 'lines' && line ? line - part.from : -1);
  return (
    <>
      {text === '' ? (
        <p class="empty">{lines === 0 ? 'Empty.' : `There is no such line: it has ${formatCount(lines)}.`}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
        <pre tabIndex={0}>
          {before}
          {pointed !== '' && <mark>{pointed}</mark>}
          {after}
        </pre>
      )}
      <p class="note recalled-size">
        {truncated ? `A part of ${size}` : `The whole text: ${size}`} · <code>{handle}</code>
      </p>
    </>
  );
}

/** Splits a text around a line, counted from 0. */
function pointOut(text: string, index: number): readonly [string, string, string] {
  if (index < 0) return [text, '', ''];
  const lines = text.split('\n');
  const before = lines.slice(0, index).map((line) => `${line}\n`);
  const after = lines.slice(index + 1).map((line) => `\n${line}`);
  return [before.join(''), lines[index] ?? '', after.join('')];
}

function partOf(kind: Part['kind'], known: RecalledText | undefined, line = 1): Part {
  if (kind === 'all') return { kind };
  if (kind === 'lines') return { kind, from: line, to: Math.min(line + 39, Math.max(line, known?.lines ?? line + 39)) };
  return { kind, lines: 40 };
}
