import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { PalimpsestError } from '../../errors.ts';
import { isRecord } from '../../formats/lens.ts';
import { nearest } from '../../options.ts';
import { policyOf } from './config-options.ts';
import { type Config, configSchema } from './config-schema.ts';

/** Something that is wrong with a configuration. */
export interface ConfigProblem {
  /** The field: `context.soft_threshold_pct`. Empty where the whole cannot be read. */
  readonly field: string;
  /** What was expected and what was found. */
  readonly text: string;
  /** Where it stands in the file, counted from 1. */
  readonly line?: number;
}

/** A configuration, and what is wrong with it. What is wrong is left out. */
export interface CheckedConfig {
  readonly config: Config;
  readonly problems: readonly ConfigProblem[];
}

/** The name under which a configuration is looked for. */
export const CONFIG_FILE = 'palimpsest.yaml';

/** Reads a configuration file. Throws BAD_OPTION with everything that is wrong with it. */
export async function loadConfig(path: string = CONFIG_FILE): Promise<Config> {
  const { config, problems } = readConfig(await readText(path));
  if (problems.length === 0) return config;
  const list = problems.map(showProblem).join('\n');
  throw new PalimpsestError('BAD_OPTION', `Expected a configuration in ${path} but found:\n${list}`);
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const why = (cause as Error).message;
    throw new PalimpsestError('NOT_FOUND', `Expected a configuration at ${path} but could not read it: ${why}`, {
      cause,
    });
  }
}

/** One line for people. */
export function showProblem({ field, text, line }: ConfigProblem): string {
  return `${line === undefined ? '' : `line ${line}: `}${field === '' ? '' : `${field}: `}${text}`;
}

/** Reads the text of a `palimpsest.yaml` (JSON is YAML too), and tells what is wrong with it, and in which line. */
export function readConfig(yaml: string): CheckedConfig {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors.map(
    ({ message, pos }): ConfigProblem => ({ field: '', text: message, line: lines.linePos(pos[0]).line }),
  );
  if (broken.length > 0) return { config: {}, problems: broken };
  const { config, problems } = checkConfig(document.toJS() ?? {});
  return { config, problems: problems.map((problem) => ({ ...problem, ...lineOf(problem.field) })) };

  function lineOf(field: string): { line?: number } {
    const node = document.getIn(field.split('.'), true);
    const at = isRecord(node) && Array.isArray(node.range) ? Number(node.range[0]) : undefined;
    return at === undefined ? {} : { line: lines.linePos(at).line };
  }
}

/** Checks a configuration that is an object already. */
export function checkConfig(value: unknown): CheckedConfig {
  const given = withoutEmpty(value);
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return withPolicy(parsed.data as Config);
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue, given));
  const config = withoutFields(given, problems) as Config;
  if (problems.some(({ field }) => field.startsWith('policy'))) return { config, problems };
  const rest = withPolicy(config);
  return { config: rest.config, problems: [...problems, ...rest.problems] };
}

/** A section that is begun and left empty is null in YAML: it says nothing. */
function withoutEmpty(value: unknown): unknown {
  if (!isRecord(value) || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutEmpty(inner)]));
}

/** What the makers of policies know about their options, they say themselves. */
function withPolicy(config: Config): CheckedConfig {
  try {
    policyOf(config);
    return { config, problems: [] };
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    const { policy: _wrong, ...rest } = config;
    return { config: rest, problems: [{ field: 'policy', text: error.message }] };
  }
}

function toProblems(issue: z.core.$ZodIssue, given: unknown): ConfigProblem[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key));
  const found = valueAt(given, issue.path);
  const text = `Expected ${issue.message} but found ${show(found)}`;
  return [{ field: issue.path.join('.'), text }];
}

function unknownKey(path: readonly PropertyKey[], key: string): ConfigProblem {
  const known = keysAt(path);
  const near = nearest(key, known);
  const elsewhere = near === undefined ? placeOf(key) : undefined;
  const hint = near ?? elsewhere;
  const field = [...path, key].join('.');
  const remedy = hint ? `did you mean ${hint}?` : `there is ${known.join(', ')}`;
  return { field, text: `Expected a known field but found ${key}; ${remedy}` };
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let schema: unknown = configSchema;
  for (const key of path) schema = unwrapped(shapeOf(schema)?.[String(key)]);
  return Object.keys(shapeOf(schema) ?? {});
}

/** A field that is right, but stands in the wrong section. */
function placeOf(key: string, schema: unknown = configSchema, path = ''): string | undefined {
  for (const [name, inner] of Object.entries(shapeOf(schema) ?? {})) {
    const place = path === '' ? name : `${path}.${name}`;
    if (name === key) return place;
    const found = placeOf(key, unwrapped(inner), place);
    if (found) return found;
  }
  return undefined;
}

const shapeOf = (schema: unknown): Readonly<Record<string, unknown>> | undefined =>
  schema instanceof z.ZodObject ? schema.shape : undefined;

const unwrapped = (schema: unknown): unknown => (schema instanceof z.ZodOptional ? schema.unwrap() : schema);

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[String(key)] : undefined), value);
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 80) : JSON.stringify(value);
}

function withoutFields(value: unknown, problems: readonly ConfigProblem[]): unknown {
  if (!isRecord(value) || Array.isArray(value)) return {};
  const copy = structuredClone(value);
  for (const { field } of problems) {
    const keys = field.split('.');
    const parent = valueAt(copy, keys.slice(0, -1));
    if (isRecord(parent)) delete parent[keys.at(-1) ?? ''];
  }
  return copy;
}
