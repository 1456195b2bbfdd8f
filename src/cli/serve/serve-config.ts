import { homedir } from 'node:os';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Config } from '../../manager/config/config-schema.ts';
import { CONFIG_FILE, readConfig, showProblem } from '../../manager/config/read-config.ts';
import { whyNotRead } from '../file-problem.ts';
import type { Io } from '../io.ts';

/** A configuration for the gateway: the named file, else the user's own file, which comes before that of the working folder. */
export async function readServeConfig(flag: string | undefined, io: Io): Promise<Config> {
  if (flag !== undefined) return read(flag, io);
  return merge(await readFolder(io), await readIfThere(usersFile(io), io));
}

/** In the user's own configuration folder, where no repository can put anything. */
function usersFile(io: Io): string {
  return join(io.env?.XDG_CONFIG_HOME || join(homedir(), '.config'), 'palimpsest', CONFIG_FILE);
}

/**
 * A cloned repository must not redirect a key, open a port, lift a limit, name a file to read, choose where texts are kept, or
 * change the comparison.
 */
async function readFolder(io: Io): Promise<Config> {
  const { gateway = {}, store, ...rest } = await readIfThere(CONFIG_FILE, io);
  const { port, host, allowed_hosts, allowed_origins, upstreams, tokens, limits, ...others } = gateway;
  const { price_file, holdout, shadow, ...harmless } = others;
  const fields = { port, host, allowed_hosts, allowed_origins, upstreams, tokens, limits, price_file, holdout, shadow };
  const ignored = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`gateway.${name}`]));
  if (store) ignored.push('store');
  if (ignored.length > 0)
    io.stderr(
      `palimpsest serve: ${CONFIG_FILE} in this folder may not set ${ignored.join(', ')}: ignored. ` +
        `Use flags, --config, or ${usersFile(io)}\n`,
    );
  return { ...rest, gateway: harmless };
}

/** Section by section, field by field. */
function merge(base: Config, over: Config): Config {
  return {
    ...base,
    ...over,
    gateway: { ...base.gateway, ...over.gateway },
    ...(over.policy || base.policy ? { policy: over.policy ?? base.policy } : {}),
  };
}

async function read(path: string, io: Io): Promise<Config> {
  const text = await io.readFile(path).catch((error: Error) => {
    throw new PalimpsestError('BAD_INPUT', `cannot read ${path}: ${whyNotRead(error)}`);
  });
  return parse(path, text);
}

async function readIfThere(path: string, io: Io): Promise<Config> {
  const text = await io.readFile(path).catch((error: Error) => {
    if (!/ENOENT|ENOTDIR/.test(`${(error as NodeJS.ErrnoException).code} ${error.message}`))
      io.stderr(`palimpsest serve: cannot read ${path}: ${whyNotRead(error)}\n`);
    return '';
  });
  return parse(path, text);
}

function parse(path: string, text: string): Config {
  const { config, problems } = readConfig(text);
  if (problems.length === 0) return config;
  throw new PalimpsestError('BAD_OPTION', `${path}:\n${problems.map(showProblem).join('\n')}`);
}
