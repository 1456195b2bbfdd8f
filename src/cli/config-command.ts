import { PalimpsestError } from '../errors.ts';
import { type Io, readAll, UsageError } from './io.ts';
import { parseOptions } from './parse-options.ts';

export const configHelp = `palimpsest config: checks a configuration.

Usage: palimpsest config check [file] [options]

Reads palimpsest.yaml, or the file you name (- is standard input), and tells
which fields are wrong or unknown, in which line, and what was meant. Fields
are described in docs/configuration.md and in palimpsest.schema.json.

Options:
  --json       prints the result as JSON
  -h, --help

Exit codes: 0 nothing is wrong, 1 something is, 2 called wrongly.
Example: palimpsest config check
`;

export async function configCommand(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, { json: { type: 'boolean' } });
  const [action, file, ...more] = positionals;
  if (action !== 'check') throw new UsageError(`expected 'config check' but found '${action ?? 'nothing'}'`);
  if (more.length > 0) throw new UsageError(`expected one file but found '${more[0]}' too`);
  // Only here: the schema library would slow down the start of every other command.
  const { CONFIG_FILE, readConfig, showProblem } = await import('../manager/config/read-config.ts');
  const path = file ?? CONFIG_FILE;
  const { problems } = readConfig(await readText(path, io));
  if (values.json) io.stdout(`${JSON.stringify({ version: 1, file: path, problems }, undefined, 2)}\n`);
  else if (problems.length === 0) io.stdout(`${path}: nothing is wrong\n`);
  else for (const problem of problems) io.stdout(`${path}: ${showProblem(problem)}\n`);
  return problems.length === 0 ? 0 : 1;
}

async function readText(path: string, io: Io): Promise<string> {
  if (path === '-') return io.stdin ? readAll(io.stdin) : '';
  try {
    return await io.readFile(path);
  } catch (cause) {
    const remedy = 'name the file, or write one: docs/configuration.md';
    throw new PalimpsestError('NOT_FOUND', `Expected a configuration at ${path} but found none; ${remedy}`, { cause });
  }
}
