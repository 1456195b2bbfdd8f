import { LineCounter, parseDocument } from 'yaml';
import { PalimpsestError } from '../errors.ts';
import { isRecord } from '../formats/lens.ts';
import { createPriceBook, type OwnModelPrices } from '../money/index.ts';
import { whyNotRead } from './file-problem.ts';
import type { Io } from './io.ts';

/** Own prices from a JSON or YAML file. Throws BAD_INPUT or BAD_OPTION with the file and the mistake in it. */
export async function readPriceFile(path: string, io: Pick<Io, 'readFile'>): Promise<OwnModelPrices> {
  const text = await io.readFile(path).catch((error: Error) => {
    throw new PalimpsestError('BAD_INPUT', `cannot read the price file ${path}: ${whyNotRead(error)}`);
  });
  const prices = toPrices(parse(path, text));
  try {
    createPriceBook(prices);
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    throw new PalimpsestError(error.code, `${path}: ${inFile(error.message)}. See docs/money.md`, { cause: error });
  }
  return prices;
}

/** A message about options, in the names of the file. */
const inFile = (message: string): string =>
  message.replace(/\.$/, '').replaceAll('cacheRead', 'cache_read').replaceAll('cacheWrite', 'cache_write');

/** JSON is YAML too. */
function parse(path: string, text: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [broken] = [...document.errors, ...document.warnings];
  if (!broken) return document.toJS() ?? {};
  const { line } = lines.linePos(broken.pos[0]);
  throw new PalimpsestError('BAD_INPUT', `${path}: line ${line}: Expected JSON or YAML but found: ${broken.message}`);
}

/** Files have `cache_read` for `cacheRead`. Wrong fields stay, so that the check can name them. */
function toPrices(value: unknown): OwnModelPrices {
  if (!isRecord(value) || Array.isArray(value)) return value as unknown as OwnModelPrices;
  return Object.fromEntries(
    Object.entries(value).map(([model, price]) => [model, camelCased(price)]),
  ) as OwnModelPrices;
}

function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (!isRecord(value)) return value;
  const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camel(key), camelCased(inner)]));
}
