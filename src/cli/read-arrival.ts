import type { ArrivalOptions } from '../index.ts';
import { UsageError } from './io.ts';
import { hintFor, readCount } from './parse-options.ts';

const NAMES = ['clean', 'references', 'shell-output', 'truncate'];

/** Reads `clean,references,shell-output=2000`: options that are not named are off. `none` turns all off. */
export function readArrival(text: string): ArrivalOptions {
  const named = text === 'none' ? [] : text.split(',').map((part) => part.trim().split('=', 2));
  const values = new Map<string, string | undefined>();
  for (const [name = '', value] of named) {
    if (!NAMES.includes(name))
      throw new UsageError(
        `expected --arrival to name ${NAMES.join(', ')} or none but found '${name}'${hintFor(name, NAMES)}`,
      );
    values.set(name, value);
  }
  const tokensOf = (name: string): number | undefined => {
    const value = values.get(name);
    return value === undefined ? undefined : readCount(`--arrival ${name}`, value);
  };
  if (values.has('truncate') && values.get('truncate') === undefined)
    throw new UsageError('expected --arrival truncate with a number of tokens, such as truncate=8000');
  return {
    clean: values.has('clean'),
    references: values.has('references'),
    shellOutput: tokensOf('shell-output') ?? values.has('shell-output'),
    truncate: tokensOf('truncate') ?? false,
  };
}
