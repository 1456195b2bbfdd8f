import { quoted } from './command-line.ts';
import { remembered, rememberedLast } from './remembered.ts';
import { type LineRange, toRange } from './tool-use.ts';

/** The arguments of a call, by their names. */
export type Fields = Readonly<Record<string, unknown>>;

/** Longer arguments ask for no range of lines, and are not parsed. */
export const LONGEST_ARGUMENTS = 20_000;

export const fieldsIn = (args: string): Fields =>
  args.length <= LONGEST_ARGUMENTS ? (parseArguments(args) ?? {}) : {};

/** Arguments that are a JSON object; undefined if they are not. */
export const parseArguments = rememberedLast((args): Fields | undefined => {
  if (!args.startsWith('{')) return undefined;
  try {
    return JSON.parse(args) as Fields;
  } catch {
    return undefined;
  }
});

const ROLES: readonly (readonly [Role, RegExp])[] = [
  ['path', /^(?:(?:file|absolute|target|notebook)_?path|path|file_?name|file|target_file)$/],
  ['from', /^(?:(?:line_)?offset|line_(?:start|from)|(?:start|from|first|begin)(?:_line)?(?:_number)?)$/],
  ['to', /^(?:line_(?:end|to)|(?:end|to|last|until)(?:_line)?(?:_number)?)$/],
  ['limit', /^(?:limit|max_lines|num_lines|line_count)$/],
  ['range', /^(?:view|line)?_?range$/],
  ['aside', /^(?:command|description|explanation|instruction|reason|thought|security_risk|timeout(?:_ms)?|encoding)$/],
];
type Role = 'path' | 'from' | 'to' | 'limit' | 'range' | 'aside' | 'unknown';

const roleOf = remembered((name): Role => {
  const key = name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
  return ROLES.find(([, pattern]) => pattern.test(key))?.[0] ?? 'unknown';
});

/** A list, or the text of one: models write both. */
const PAIR = /^\[?\s*(\d+)\s*,\s*(-?\d+)\s*\]?$/;

/** The lines that a read shows; undefined if an argument is not understood, such as a page. */
export function rangeIn(fields: Fields): LineRange | undefined {
  const found: { path?: string; from?: number; to?: number; limit?: number } = {};
  for (const [name, value] of Object.entries(onlyFile(fields))) {
    const role = roleOf(name);
    if (value === null || value === '' || role === 'aside') continue;
    if (role === 'path' && typeof value === 'string') found.path ??= value;
    else if ((role === 'from' || role === 'to' || role === 'limit') && isNumber(value)) found[role] = Number(value);
    else if (role === 'range' && PAIR.test(String(value))) {
      const [, from, to] = PAIR.exec(String(value)) ?? [];
      Object.assign(found, { from: Number(from), to: Number(to) });
    } else return undefined;
  }
  const { path, from = 1, limit = Number.POSITIVE_INFINITY, to = from + limit - 1 } = found;
  // A negative offset counts from the end of the file.
  return path === undefined || from < 0 ? undefined : toRange(path, from, to);
}

/** A list of one file is that file. */
function onlyFile(fields: Fields): Fields {
  const files = fields.files ?? fields.paths;
  if (!Array.isArray(files) || files.length !== 1) return fields;
  const { files: _files, paths: _paths, ...rest } = fields;
  return typeof files[0] === 'string' ? { ...rest, path: files[0] } : { ...rest, ...files[0] };
}

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value));

/** The command line in the arguments of a shell, whatever they call it. */
export function commandIn(fields: Fields, args: string): string {
  const { commands } = fields;
  if (Array.isArray(commands)) return commands.join('\n');
  const command = lineOf(fields.command ?? fields.cmd ?? commands ?? fields.script);
  return command ?? (args.startsWith('{') ? '' : args);
}

/** Text that is typed into a running program. Its purpose is unknown, but it may print a file. */
export const inputIn = (fields: Fields): string => lineOf(fields.input ?? fields.chars ?? fields.keystrokes) ?? '';

function lineOf(command: unknown): string | undefined {
  if (typeof command === 'string') return command;
  if (!Array.isArray(command)) return undefined;
  return command.length === 1 ? String(command[0]) : command.map((word) => quoted(String(word))).join(' ');
}

export function directoryIn(fields: Fields): string {
  const directory = fields.workdir ?? fields.working_directory ?? fields.cwd ?? fields.directory ?? fields.dir_path;
  return typeof directory === 'string' ? directory : '';
}

/** Whether a search also returns the lines around its matches, or whole definitions. */
export const asksForContext = (fields: Fields): boolean =>
  Object.entries(fields).some(([name, value]) => CONTEXT.test(name) && Boolean(value) && value !== '0');

const CONTEXT = /^-[ABC]$|context|^(?:include|with)_?(?:body|source|code)$|^lines_?(?:before|after|around)$/i;
