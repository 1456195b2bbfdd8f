import type { AddressVariable, Environment } from '../agents/agents.ts';
import { UsageError } from '../io.ts';

/** The addresses in the environment, in the form of `--upstream`: the gateway forwards requests to them. */
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
