import { nearest } from '../../options.ts';
import { type Io, UsageError } from '../io.ts';

/** An option of the command line. */
interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** The variable of an option: `--allow-host` is PALIMPSEST_ALLOW_HOST. */
export const variableOf = (option: string): string => `PALIMPSEST_${option.toUpperCase().replaceAll('-', '_')}`;

/** Options that are not on the command line, from the environment. An empty variable counts as not set. */
export function withEnvironment<T extends Values>(values: T, options: Readonly<Record<string, Option>>, io: Io): T {
  warnOfMisspelt(Object.keys(options).map(variableOf), io);
  const missing = Object.entries(options).filter(([name]) => values[name] === undefined);
  const found = missing.flatMap(([name, option]) => {
    const text = io.env?.[variableOf(name)];
    if (!text || isOfService(variableOf(name), text)) return [];
    return [[name, readVariable(name, text, option)] as const];
  });
  return { ...values, ...Object.fromEntries(found) };
}

function readVariable(name: string, text: string, { type, multiple }: Option): string | boolean | string[] {
  if (type === 'boolean') return readFlag(name, text);
  return multiple ? text.split(',').map((part) => part.trim()) : text;
}

function readFlag(name: string, text: string): boolean {
  if (/^(?:1|true)$/i.test(text)) return true;
  if (/^(?:0|false)$/i.test(text)) return false;
  throw new UsageError(`expected $${variableOf(name)} to be true or false but found '${text}'`);
}

/**
 * Kubernetes and Docker set variables with the addresses of other services. For a service called `palimpsest` they set
 * PALIMPSEST_PORT=tcp://10.0.0.7:8787 and PALIMPSEST_SERVICE_HOST, which are not options.
 */
const isOfService = (variable: string, text: string): boolean =>
  SERVICE.test(variable) || (variable.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(text));

const SERVICE = /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;

/** Variables of other commands, of `palimpsest run` and of Palimpsest's own tests. */
const OTHERS =
  /^PALIMPSEST_(?:TOKEN|URL|MCP_URL|CI|RUNS|CHAOS_\w+|SENT_BYTES|SCREENSHOTS|REPORT_COVERAGE|POSTGRES_URL)$/;

function warnOfMisspelt(known: readonly string[], { env = {}, stderr }: Io): void {
  for (const [name, text = ''] of Object.entries(env)) {
    if (!name.startsWith('PALIMPSEST_') || known.includes(name) || OTHERS.test(name)) continue;
    if (isOfService(name, text)) continue;
    const near = nearest(name, known);
    stderr(`palimpsest serve: $${name} is no variable of it${near ? `; did you mean $${near}?` : ''}\n`);
  }
}
