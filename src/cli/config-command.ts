import { PalimpsestError } from '../errors.ts';
import { checkGatewayOptions } from '../gateway/gateway-options.ts';
import { LIMIT_FIELDS, limitOf, policyOf } from '../manager/config/config-options.ts';
import { type Config, PROVIDERS } from '../manager/config/config-schema.ts';
import { effectiveFields } from '../manager/config/effective-fields.ts';
import { CONFIG_FILE, type ConfigProblem, readConfig, showProblem } from '../manager/config/read-config.ts';
import { whyNotRead } from './file-problem.ts';
import { type Io, readAll, UsageError } from './io.ts';
import { hintFor, parseOptions } from './parse-options.ts';
import { showConfig, windowOf } from './show-config.ts';

export const help = `palimpsest config: checks a configuration, or shows its effect.

Usage: palimpsest config check [file] [options]
       palimpsest config show [file] [options]

Reads palimpsest.yaml, or the file you name (- is standard input). Fields are
described in docs/configuration.md and in palimpsest.schema.json.

check  lists wrong and unknown fields with their lines, and suggests the right
       ones. It warns of a policy that serve would refuse.
show   draws the context window as a bar, with the shares of history, tool
       work, answer and margin, and the thresholds. Then it prints every field
       with its value or default.

Options:
  --json       prints the result as JSON
  -h, --help

Exit codes: 0 no problem, 1 problems found, 2 wrong usage.
Example: palimpsest config show my.yaml
`;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, { json: { type: 'boolean' } });
  const [action, file, ...more] = positionals;
  if (action !== 'check' && action !== 'show') {
    const hint = hintFor(action ?? '', ['check', 'show']);
    const found = action === undefined ? 'nothing' : `'${action}'`;
    throw new UsageError(`expected 'config check' or 'config show' but found ${found}${hint}`);
  }
  if (more.length > 0) throw new UsageError(`expected one file but found '${more[0]}' too`);
  const path = file ?? CONFIG_FILE;
  const { config, problems: found } = readConfig(await readText(path, io));
  const noRoom = noRoomIn(config);
  const problems = action === 'show' ? [...found, ...noRoom] : found;
  if (action === 'show' && problems.length === 0) return show(path, config, { isJson: values.json === true, io });
  const warnings = action === 'show' ? [] : [...warningsOf(config), ...unusedIn(config), ...noRoom];
  if (values.json) io.stdout(`${JSON.stringify({ version: 1, file: path, problems, warnings }, undefined, 2)}\n`);
  else {
    const name = path === '-' ? 'standard input' : path;
    if (problems.length === 0) io.stdout(`${name}: nothing is wrong\n`);
    for (const problem of problems) io.stdout(`${name}: ${showProblem(problem)}\n`);
    for (const { field, text } of warnings) io.stdout(`${name}: warning: ${field}: ${text}\n`);
  }
  return problems.length === 0 ? 0 : 1;
}

function show(file: string, config: Config, { isJson, io }: { isJson: boolean; io: Io }): number {
  const window = windowOf(limitOf(config));
  const fields = effectiveFields(config);
  if (isJson) io.stdout(`${JSON.stringify({ version: 1, file, window, fields }, undefined, 2)}\n`);
  else io.stdout(showConfig(file, window, fields, io));
  return 0;
}

/** Warns if the default reserve for the answer leaves a run no room. Sessions work with such a small limit. */
function noRoomIn(config: Config): ConfigProblem[] {
  const { limitTokens, source, outputTokens, budgetTokens } = limitOf(config);
  if (budgetTokens > 0) return [];
  const text = `${outputTokens} leaves a run no room for a request: set less than nine tenths of ${LIMIT_FIELDS[source]} (${limitTokens})`;
  return [{ field: 'model.max_output_tokens', text }];
}

/** Fields that are valid but have no effect, or another one than meant. */
function unusedIn(config: Config): ConfigProblem[] {
  const { store = {}, session = {}, model = {} } = config;
  const warnings: ConfigProblem[] = [];
  if (store.path !== undefined && store.postgres !== undefined)
    warnings.push({ field: 'store.path', text: 'palimpsest serve does not use it, as store.postgres is set too' });
  if (session.directory !== undefined && session.database !== undefined)
    warnings.push({ field: 'session.directory', text: 'sessions do not use it, as session.database is set too' });
  const { provider, name } = model;
  if (provider !== undefined && !PROVIDERS.includes(provider))
    warnings.push({ field: 'model.provider', text: `unknown; known are ${PROVIDERS.join(', ')}` });
  const { source, limitTokens } = limitOf(config);
  if (source === 'unknownModel')
    warnings.push({
      field: 'model.name',
      text: `the context window of ${name} is not known, so ${limitTokens} tokens are assumed; set context.limit or model.context_windows`,
    });
  return warnings;
}

/** Fields that work in a session and not in a gateway. */
function warningsOf(config: Config): ConfigProblem[] {
  const policy = policyOf(config);
  try {
    if (policy) checkGatewayOptions({ policy });
    return [];
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    const text = `palimpsest serve refuses ${policy?.name}, which leaves messages out: a gateway only masks`;
    return [{ field: 'policy', text }];
  }
}

async function readText(path: string, io: Io): Promise<string> {
  if (path === '-') return io.stdin ? readAll(io.stdin) : '';
  try {
    return await io.readFile(path);
  } catch (cause) {
    if (!/ENOENT|ENOTDIR/.test((cause as Error).message))
      throw new PalimpsestError('BAD_INPUT', `cannot read ${path}: ${whyNotRead(cause)}`, { cause });
    const remedy = 'name the file, or write one: docs/configuration.md';
    throw new PalimpsestError('NOT_FOUND', `Expected a configuration at ${path} but found none; ${remedy}`, { cause });
  }
}
