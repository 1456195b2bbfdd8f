import type { AddressVariable, Environment } from './agents.ts';
import { UsageError } from './io.ts';

/** The addresses that the environment has already, as `--upstream` takes them: the gateway sends requests on to those. */
export function upstreamsFrom(variables: readonly AddressVariable[], env: Environment): string[] {
  return variables.flatMap(({ provider, name, path }) => {
    const address = env[name]?.replace(/\/+$/, '');
    if (!address) return [];
    if (address.endsWith(path)) return [`${provider}=${address.slice(0, address.length - path.length)}`];
    throw new UsageError(
      `expected $${name} to end in ${path} but found '${address}'. Unset it and name the address with --upstream ${provider}=…`,
    );
  });
}
