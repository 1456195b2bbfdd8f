import { readFile } from 'node:fs/promises';
import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { PalimpsestError } from '../../errors.ts';
import { isRecord } from '../../formats/lens.ts';
import { nearest } from '../../options.ts';
import { isTenant, TENANT_RULE } from '../../store/check-input.ts';
import { LIMIT_FIELDS, limitOf, policyOf } from './config-options.ts';
import { type Config, configSchema, PROVIDERS } from './config-schema.ts';

/** Something that is wrong with a configuration. */
export interface ConfigProblem {
  /** The field: `context.soft_threshold_pct`. Empty if the file cannot be read at all. */
  readonly field: string;
  /** The expected value and the value that was found. */
  readonly text: string;
  /** The line in the file, counted from 1. */
  readonly line?: number;
}

/** A configuration without its wrong fields, and the problems of these. */
export interface CheckedConfig {
  /** Every field that is right. */
  readonly config: Config;
  /** Every field that is wrong, in the order of the file. */
  readonly problems: readonly ConfigProblem[];
}

/** The name under which a configuration is looked for. */
export const CONFIG_FILE = 'palimpsest.yaml';

/**
 * Reads a configuration file. Throws BAD_OPTION with everything that is wrong with it.
 *
 * @example
 * ```ts
 * import { loadConfig, openSession, sessionOptionsOf } from 'palimpsest/manager';
 *
 * const config = await loadConfig('palimpsest.yaml');
 * const session = await openSession({ directory: 'sessions', id: 'ticket-42', ...sessionOptionsOf(config) });
 * ```
 */
export async function loadConfig(path: string = CONFIG_FILE): Promise<Config> {
  const { config, problems } = readConfig(await readText(path));
  if (problems.length === 0) return config;
  const list = problems.map(showProblem).join('\n');
  throw new PalimpsestError('BAD_OPTION', `Expected a configuration in ${path} but found:\n${list}`);
}

async function readText(path: string): Promise<string> {
  try {
    // Bytes that are not UTF-8 are an error: otherwise the file would be read as a text full of question marks.
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
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

/** Reads the text of a `palimpsest.yaml` (JSON is YAML too). Answers its problems, each with its line. */
export function readConfig(yaml: string): CheckedConfig {
  const lines = new LineCounter();
  const binary = yaml.search(BINARY);
  if (binary >= 0) return { config: {}, problems: [{ field: '', text: NO_TEXT, line: lineAt(yaml, binary) }] };
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  // An unresolved tag is only a warning, but `!env KEY` would be taken for the text KEY.
  const broken = [...document.errors, ...document.warnings].map(
    ({ message, pos }): ConfigProblem => ({ field: '', text: message, line: lines.linePos(pos[0]).line }),
  );
  if (broken.length > 0) return { config: {}, problems: broken };
  const value = toValue(document);
  if (value instanceof Error) return { config: {}, problems: [{ field: '', text: value.message }] };
  const { config, found } = check(value);
  const problems = found.map((one): ConfigProblem => {
    const at = offsetOf(document, one.path);
    return { ...toProblem(one), ...(at === undefined ? {} : { line: lines.linePos(at).line }) };
  });
  return { config, problems: problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
}

/** Bytes that YAML does not allow in a text. A file with one of them is of another kind. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
const BINARY = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
const NO_TEXT = 'Expected YAML or JSON but found a byte that no text has; is this the right file?';

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Where a field begins: at its name, as its value may begin a line later. */
function offsetOf(document: Document, path: Found['path']): number | undefined {
  const parent = document.getIn(path.slice(0, -1), true);
  const name = path.at(-1);
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => (isScalar(key) ? key.value : key) === name || String(key) === name)
    : undefined;
  const node = pair?.key ?? document.getIn(path, true);
  return isRecord(node) && Array.isArray(node.range) ? Number(node.range[0]) : undefined;
}

/** Checks a configuration that is an object already. */
export function checkConfig(value: unknown): CheckedConfig {
  if (holdsItself(value)) return { config: {}, problems: [{ field: '', text: CIRCLE }] };
  const { config, found } = check(value);
  return { config, problems: found.map(toProblem) };
}

/** A problem and its place. A key may hold a dot: `gpt-4.1` is one. */
interface Found {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

interface Checked {
  readonly config: Config;
  readonly found: readonly Found[];
}

const toProblem = ({ path, text }: Found): ConfigProblem => ({ field: path.join('.'), text });

/** Aliases are followed here: one may lead nowhere, to far too much, or back to a value around it. */
function toValue(document: Document): unknown {
  try {
    const value: unknown = document.toJS() ?? {};
    return holdsItself(value) ? new Error(CIRCLE) : value;
  } catch (error) {
    return error as Error;
  }
}

const CIRCLE = 'Expected values that end but found one that holds itself';

function holdsItself(value: unknown, around: readonly unknown[] = []): boolean {
  if (!isRecord(value)) return false;
  return around.includes(value) || Object.values(value).some((inner) => holdsItself(inner, [...around, value]));
}

function check(value: unknown): Checked {
  const reserved = reservedIn(value);
  if (reserved.length > 0) {
    const rest = check(withoutFields(value, reserved));
    return { config: rest.config, found: [...reserved, ...rest.found] };
  }
  const given = withoutEmpty(value);
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return checkTogether(parsed.data as Config);
  const { issues } = parsed.error;
  const found = issues.flatMap((issue) => toFound(issue, given));
  const rest = withoutFields(given, found);
  // Fields are checked together once each of them is right.
  const more = issues.every(({ code }) => code === 'custom') ? checkTogether(rest as Config) : check(rest);
  const isPolicyWrong = found.some(({ path }) => path[0] === 'policy');
  return {
    config: more.config,
    found: [...found, ...more.found.filter(({ path }) => !isPolicyWrong || path[0] !== 'policy')],
  };
}

/** The schema drops this name without a word wherever any name is allowed: a tenant's token, an option of a policy. */
function reservedIn(value: unknown, path: readonly PropertyKey[] = []): Found[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, inner]): Found[] => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    return key === '__proto__' ? [{ path: at, text: RESERVED }] : reservedIn(inner, at);
  });
}

const RESERVED = 'Expected another name but found __proto__';

/** A known field without a value is null in YAML. It counts as not given. */
function withoutEmpty(value: unknown, schema: unknown = configSchema): unknown {
  if (!isRecord(value) || Array.isArray(value)) return value;
  const shape = shapeOf(schema);
  const isKnown = (key: string): boolean => shape === undefined || Object.hasOwn(shape, key);
  const entries = Object.entries(value).filter(([key, inner]) => inner !== null || !isKnown(key));
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutEmpty(inner, unwrapped(shape?.[key]))]));
}

/** Checks that concern several fields. Each sees the configuration without the fields that an earlier one refused. */
function checkTogether(given: Config): Checked {
  let checked: Checked = { config: given, found: [] };
  for (const wrongIn of [wrongAnswer, wrongPolicy, wrongTenants, wrongProvider]) {
    const found = wrongIn(checked.config);
    if (found.length > 0)
      checked = { config: withoutFields(checked.config, found) as Config, found: [...checked.found, ...found] };
  }
  return checked;
}

/** Accepts unknown providers, but not a misspelt known one. */
function wrongProvider({ model: { provider } = {} }: Config): Found[] {
  const near = provider === undefined || PROVIDERS.includes(provider) ? undefined : nearest(provider, PROVIDERS);
  if (near === undefined) return [];
  return [{ path: ['model', 'provider'], text: `Expected a provider but found "${provider}"; did you mean ${near}?` }];
}

/** The answer and the margin must leave room for a request. A file that names no model may still have one in code. */
function wrongAnswer(config: Config): Found[] {
  const { limitTokens, source, budgetTokens } = limitOf(config);
  const output = config.model?.max_output_tokens;
  if (output === undefined || budgetTokens > 0 || source === 'unknown') return [];
  const text = `Expected below nine tenths of ${LIMIT_FIELDS[source]} (${limitTokens}) but found ${output}`;
  return [{ path: ['model', 'max_output_tokens'], text }];
}

/** Tenants become folders and keys, and their tokens tell them apart. No token is shown. */
function wrongTenants(config: Config): Found[] {
  const tokens = config.gateway?.tokens ?? {};
  const owners = new Map(Object.entries(tokens).map(([tenant, token]) => [token, tenant]));
  const found = Object.entries(tokens).flatMap(([tenant, token]): Found[] => {
    const path = ['gateway', 'tokens', tenant];
    if (!isTenant(tenant)) return [{ path, text: `Expected a tenant of ${TENANT_RULE} but found '${tenant}'` }];
    const owner = owners.get(token);
    return owner === tenant ? [] : [{ path, text: `Expected a token of its own but found that of ${owner}` }];
  });
  const { tenant } = config.store ?? {};
  if (tenant !== undefined && !isTenant(tenant))
    found.push({ path: ['store', 'tenant'], text: `Expected a tenant of ${TENANT_RULE} but found '${tenant}'` });
  return found;
}

/** The makers of policies check their options themselves. */
function wrongPolicy(config: Config): Found[] {
  try {
    policyOf(config);
    return [];
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    return [{ path: ['policy'], text: error.message }];
  }
}

function toFound(issue: z.core.$ZodIssue, given: unknown): Found[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(issue.path, key));
  const found = valueAt(given, issue.path);
  const near = typeof found === 'string' ? nearest(found, valuesOf(issue)) : undefined;
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const text = `Expected ${issue.message} but found ${show(found)}${hint}`;
  return [{ path: issue.path, text }];
}

/** The words that a field may be. */
function valuesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code !== 'invalid_union') return [];
  return issue.errors.flat().flatMap((inner) => (inner.path.length === 0 ? valuesOf(inner) : []));
}

function unknownKey(path: readonly PropertyKey[], key: string): Found {
  const known = keysAt(path);
  const near = nearest(key, known);
  const elsewhere = near === undefined ? placeOf(key) : undefined;
  const hint = near ?? (elsewhere === key ? `${key} outside of ${path.join('.')}` : elsewhere);
  const names = known.length > 0 ? `; there is ${known.join(', ')}` : '';
  const remedy = hint ? `; did you mean ${hint}?` : names;
  return { path: [...path, key], text: `Expected a known field but found ${key}${remedy}` };
}

function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let schema: unknown = configSchema;
  for (const key of path) schema = unwrapped(shapeOf(schema)?.[String(key)]);
  return Object.keys(shapeOf(schema) ?? {});
}

/** The place of a known field that was found in the wrong section. */
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
  if (typeof value === 'number') return String(value);
  return typeof value === 'object' ? JSON.stringify(value).slice(0, 80) : JSON.stringify(value);
}

function withoutFields(value: unknown, found: readonly Found[]): unknown {
  if (!isRecord(value) || Array.isArray(value)) return {};
  const copy = copyOf(value);
  // The last first: removing an item of a list moves the items after it.
  for (const { path } of [...found].reverse()) {
    const parent = valueAt(copy, path.slice(0, -1));
    const key = path.at(-1) ?? '';
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else if (isRecord(parent)) delete parent[String(key)];
  }
  return copy;
}

/** A copy of lists and objects. Not by structuredClone, which refuses functions: an object in code may have some. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)]));
}
