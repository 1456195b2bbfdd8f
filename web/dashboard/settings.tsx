import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Status } from '../../src/gateway/receipts/receipt.ts';
import { Moment } from '../components/moment.tsx';
import { formatCount, formatExactShare } from '../format.ts';

const KEYS = [
  ['↑ ↓ Home End', 'move in the list of conversations'],
  ['Enter', 'opens what has the focus'],
  ['/', 'search'],
  ['Escape', 'closes what is open'],
] as const;

/** The settings of the gateway, in a dialog. */
export function Settings({ status }: { readonly status: Status | undefined }) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <button type="button" class="action" disabled={!status} onClick={() => dialog.current?.showModal()}>
        Settings
      </button>
      <dialog ref={dialog} aria-labelledby="settings" closedby="any">
        {status && (
          <div class="dialog-body">
            <div class="dialog-head">
              <h2 id="settings">Settings in force</h2>
              <button type="button" class="action" onClick={() => dialog.current?.close()}>
                Close
              </button>
            </div>
            <p class="note">
              They come from the command line and the configuration file; a change needs a restart of the gateway.
            </p>
            <dl class="pairs">
              {factsOf(status).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            <h3>Keys</h3>
            <dl class="pairs">
              {KEYS.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </div>
        )}
      </dialog>
    </>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function factsOf({ version, startedAt, settings, store }: Status): readonly Fact[] {
  return [
    ['version', version],
    ['started', <Moment key="started" time={startedAt} />],
    ...Object.entries(settings).map(([name, value]): Fact => [nameOf(name, value), show(value)]),
    [
      'store',
      store.ok || store.kind === 'none'
        ? store.kind
        : `${store.kind}, which does not answer${store.because ? `: ${store.because}` : ''}`,
    ],
  ];
}

const NAMES: Readonly<Record<string, string>> = {
  prices: 'price list of the cache',
  modelPrices: 'prices of models',
  maxTokens: 'largest request, in tokens',
  boundThinking: 'signed thinking',
};

/** The name of a setting in words. Addresses are named by their provider. */
const nameOf = (name: string, value: unknown): string =>
  NAMES[name] ?? (/^https?:/.test(String(value)) ? `upstream ${name}` : name);

const show = (value: string | number | boolean): string => {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return value || '–';
  return value <= 1 ? formatExactShare(value) : formatCount(value);
};
