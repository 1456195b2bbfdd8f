import type { FlagsOf } from '../parse-options.ts';

/** The options of every command that starts a gateway. */
export const gatewayOptions = {
  for: { type: 'string' },
  upstream: { type: 'string', multiple: true },
  port: { type: 'string' },
  store: { type: 'string' },
  policy: { type: 'string' },
  prices: { type: 'string' },
  'price-file': { type: 'string' },
  'max-tokens': { type: 'string' },
  'bound-thinking': { type: 'string' },
  holdout: { type: 'string' },
  shadow: { type: 'boolean' },
  config: { type: 'string' },
  quiet: { type: 'boolean' },
} as const;

export const serveOptions = {
  ...gatewayOptions,
  host: { type: 'string' },
  'allow-host': { type: 'string', multiple: true },
  'allow-origin': { type: 'string', multiple: true },
  workers: { type: 'string' },
  'max-age-days': { type: 'string' },
  'max-bytes': { type: 'string' },
  'whole-store': { type: 'boolean' },
  'grace-ms': { type: 'string' },
  'drain-ms': { type: 'string' },
  demo: { type: 'boolean' },
} as const;

/** The flags of `palimpsest serve`. */
export type ServeFlags = FlagsOf<typeof serveOptions>;
