/** What a tool does, as far as it tells how soon its results go cold. */
export type ToolKind = 'read' | 'search' | 'shell' | 'edit' | 'other';

export const KINDS: readonly ToolKind[] = ['read', 'search', 'shell', 'edit', 'other'];

/** A call, understood: what kind it is and, for a read, which lines of which file it shows. */
export interface ToolUse {
  readonly kind: ToolKind;
  readonly read?: LineRange;
  /** It leaves the shell in another folder. */
  readonly moves?: true;
}

/** Lines count from 1; `to` is Infinity where the call asked for all. */
export interface LineRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** Recognises a call by its tool's name and its arguments. */
export function readToolUse(tool: string | undefined, args: string): ToolUse {
  // Several parts of the planner ask about the same call, one after the other.
  if (lastUse.tool !== tool || lastUse.args !== args) lastUse = { tool, args, use: useOf(tool, args) };
  return lastUse.use;
}

let lastUse: { tool: string | undefined; args: string; use: ToolUse } = {
  tool: undefined,
  args: '',
  use: { kind: 'other' },
};

function useOf(tool: string | undefined, args: string): ToolUse {
  const kind = kindOfName(tool ?? '');
  if (kind !== 'shell' && kind !== 'read' && kind !== 'editor') return { kind };
  const fields = fieldsIn(args);
  if (kind === 'shell') return readCommand(commandIn(fields, args), directoryIn(fields));
  return kind === 'editor' && fields.command !== 'view' ? EDIT : readOf(rangeIn(fields));
}

/**
 * Whether a call shows text of a file, which agents quote exactly in edits: reads, the snippet that an edit prints, `cat`,
 * `sed -n`, `git show`, diffs. In doubt it does: then its result is cleaned less.
 */
export function showsFile(tool: string | undefined, args: string): boolean {
  const kind = kindOfName(tool ?? '');
  if (kind !== 'shell') return kind === 'read' || kind === 'edit' || kind === 'editor';
  return args.length > LONGEST || printsFile(commandIn(fieldsIn(args), args));
}

/** Whether a newer read shows all that an older one showed. */
export function covers(newer: LineRange, older: LineRange): boolean {
  return newer.path === older.path && newer.from <= older.from && newer.to >= older.to;
}

const EDIT: ToolUse = { kind: 'edit' };
const SHELL: ToolUse = { kind: 'shell' };
const SEARCH: ToolUse = { kind: 'search' };
const readOf = (read: LineRange | undefined): ToolUse => (read ? { kind: 'read', read } : { kind: 'read' });

// The name of a tool.

/** The names of tools and of their arguments are few, and come thousands of times. */
function remembered<T>(read: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= 500) known.clear();
    const answer = read(name);
    known.set(name, answer);
    return answer;
  };
}

/** For a text that is asked about several times in a row. */
function rememberedLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly answer: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Verbs that tell by themselves. In this order: `search_and_replace` edits, `find_file` searches. */
const VERBS: readonly (readonly [ToolKind, ReadonlySet<string>])[] = [
  ['edit', words('edit write replace patch insert append create apply')],
  ['search', words('grep glob rg ripgrep ls tree find finder search list locate')],
  ['read', words('read view open show cat fetch')],
];
/** Verbs that tell nothing unless files are named: `get_file_contents`, but not `get_order`. */
const WEAK_VERBS: readonly (readonly [ToolKind, ReadonlySet<string>])[] = [
  ['edit', words('update delete remove save move rename undo')],
  ['read', words('get load')],
];
const FILES = words('file files fs filesystem dir directory directories folder notebook codebase web webpage');
/** They change nothing. Any other word may: `write_file` writes a file, `write_todos` does not. */
const FILLERS = words(
  'multi many multiple all and or of in into to for by with str string text line lines range code content contents ' +
    'block body symbol symbols regex pattern name names path image url source semantic definition definitions ' +
    'references usages diff tool',
);
const SHELLS = words('bash sh zsh shell powershell pwsh terminal console ipython stdin');
const RUNS = words('run exec execute');
const RUN_OBJECTS = words('command commands cmd script python code test tests process');

const VOCABULARY = new Set([...VERBS, ...WEAK_VERBS].flatMap(([, verbs]) => [...verbs]).concat(...FILES, ...FILLERS));

/** `str_replace_editor`, `file_editor`: they edit or view, as their `command` says. */
const EDITOR = /(?:^|_)(?:editor|edit_tool)$/;

const kindOfName = remembered(readName);

function readName(name: string): ToolKind | 'editor' {
  const plain = name
    .replace(/^.*(?:__|\.|:|\/)/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_');
  if (EDITOR.test(plain)) return 'editor';
  const said = plain.split('_').flatMap(apart);
  if (isShell(said)) return 'shell';
  const namesFiles = said.some((word) => FILES.has(word));
  if (!namesFiles && !said.every((word) => VOCABULARY.has(word))) return 'other';
  const verbs = namesFiles ? [...VERBS, ...WEAK_VERBS] : VERBS;
  return verbs.find(([, known]) => said.some((word) => known.has(word)))?.[0] ?? 'other';
}

/** `webfetch` is two words. No two of ours are so long. */
function apart(word: string): readonly string[] {
  if (VOCABULARY.has(word) || word.length > 40) return [word];
  for (let i = 2; i < word.length - 1; i++) {
    const parts = [word.slice(0, i), word.slice(i)];
    if (parts.every((part) => VOCABULARY.has(part))) return parts;
  }
  return [word];
}

function isShell(said: readonly string[]): boolean {
  if (said.some((word) => SHELLS.has(word))) return true;
  const isRun = said.some((word) => RUNS.has(word));
  return isRun ? said.length === 1 || said.some((word) => RUN_OBJECTS.has(word)) : said.join() === 'command';
}

// The arguments of a call.

type Fields = Readonly<Record<string, unknown>>;

/** More is no call for a range of lines, and not worth to be parsed. */
const LONGEST = 20_000;

const fieldsIn = (args: string): Fields => (args.startsWith('{') && args.length <= LONGEST ? parse(args) : {});

const parse = rememberedLast((args): Fields => {
  try {
    return JSON.parse(args) as Fields;
  } catch {
    return {};
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

/** The lines that a read shows; undefined where anything is said that is not understood, such as a page. */
function rangeIn(fields: Fields): LineRange | undefined {
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
  return path === undefined ? undefined : toRange(path, from, to);
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

/** A negative end is the end of the file. */
const toRange = (path: string, from: number, to: number): LineRange => ({
  path: plainPath(path),
  from: Math.max(1, from),
  to: to < 0 ? Number.POSITIVE_INFINITY : to,
});

function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    const isUp = part === '..' && parts.length > 0 && parts.at(-1) !== '..' && parts.at(-1) !== '';
    if (isUp) parts.pop();
    else if (part !== '.' && (part !== '' || parts.length === 0)) parts.push(part);
  }
  return parts.join('/');
}

/** The command line in the arguments of a shell, whatever they call it. */
function commandIn(fields: Fields, args: string): string {
  const { commands } = fields;
  if (Array.isArray(commands)) return commands.join('\n');
  const command = fields.command ?? fields.cmd ?? commands ?? fields.script;
  if (typeof command === 'string') return command;
  if (Array.isArray(command)) return scriptIn(command.map(String)) ?? command.join(' ');
  return args.startsWith('{') ? '' : args;
}

/** `ls` in `bash -lc ls`. */
function scriptIn([shell = '', flag = '', script]: readonly string[]): string | undefined {
  const isScript = /^(?:(?:ba|z|da)?sh|powershell|pwsh)(?:\.exe)?$/.test(programOf(shell)) && /^-\w*c$/.test(flag);
  return isScript ? script : undefined;
}

function directoryIn(fields: Fields): string {
  const directory = fields.workdir ?? fields.working_directory ?? fields.cwd ?? fields.directory ?? fields.dir_path;
  return typeof directory === 'string' ? directory : '';
}

// Shell commands.

const READERS = words('cat nl head tail less more bat sed awk open goto scroll_down scroll_up get-content');
const SEARCHERS = words(
  'grep egrep fgrep rg ag ack find fd ls tree locate find_file search_dir search_file git-grep git-ls-files ' +
    'select-string get-childitem findstr',
);
const WRITERS = words('edit create insert patch tee apply_patch git-apply truncate set-content add-content out-file');
/** The beginning of a command tells its purpose. */
const LONGEST_COMMAND = 4000;

/** They say where to work, or nothing that is worth keeping. */
const PRELIMINARIES = words('cd pushd export source . set pwd true : echo printf');

const MOVERS = words('cd pushd popd set-location');

/** The purpose of a command is that of its first program which does more than prepare. */
function readCommand(command: string, directory: string): ToolUse {
  const commands = [...simpleCommands(command.slice(0, LONGEST_COMMAND))];
  let here = directory;
  while (commands.length > 1 && commands[0]?.joiner !== '|' && isPreliminary(commands[0])) {
    const [program = '', to = ''] = wordsIn(commands[0]?.text ?? '');
    if (program === 'cd' || program === 'pushd') here = inside(here, to);
    commands.shift();
  }
  const first = wordsIn(commands[0]?.text ?? '');
  if (commands.length === 1 && MOVERS.has(programOf(first[0] ?? ''))) return { kind: 'shell', moves: true };
  const end = commands.findIndex(({ joiner }) => joiner !== '|') + 1;
  const script = scriptIn(first);
  if (script !== undefined && commands.length === 1) return readCommand(script, here);
  return readPipeline(
    commands.slice(0, end).map(({ text }) => text),
    end === commands.length ? here : undefined,
  );
}

interface SimpleCommand {
  readonly text: string;
  /** The operator between it and the next. */
  readonly joiner: string;
}

/** The commands of a line, comments before them apart. Quotes hold together what they enclose. */
const simpleCommands = rememberedLast((command): readonly SimpleCommand[] => {
  const commands: SimpleCommand[] = [];
  let text = '';
  const end = (joiner: string): void => {
    if (text.trim() !== '') commands.push({ text: text.trim(), joiner });
    text = '';
  };
  if (!/[\\'"&|;\n]/.test(command)) text = command;
  else
    for (const [token] of command.replace(/^(?:\s*#[^\n]*\n)+/, '').matchAll(TOKEN)) {
      if (JOINER.test(token)) end(token);
      else text += token;
    }
  end('');
  return commands;
});

const TOKEN = /\\.|'[^']*'|"(?:\\.|[^"\\])*"|&&|\|\||[|;\n]|[^\\'"&|;\n]+|./gs;
const JOINER = /^(?:&&|\|\|?|;|\n)$/;

/** Quoted text is one word, without its quotes. */
function wordsIn(text: string): string[] {
  if (!/['"\\]/.test(text)) return text.match(/\S+/g) ?? [];
  return Array.from(
    text.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|((?:\\.|[^\s'"\\])+)/gs),
    (m) => m[1] ?? m[2] ?? m[3] ?? '',
  );
}

const unquoted = (text: string): string => text.replace(/'[^']*'|"(?:\\.|[^"\\])*"/gs, "''");

/** `FOO=1 sudo /usr/bin/git grep x` runs git-grep. */
function programOf(text: string): string {
  const line = text.replace(/^\(?\s*(?:(?:\w+=\S*|sudo|time|command|timeout\s+\S+)\s+)*/, '');
  const name = (/^(?:git\s+\S+|\S+)/.exec(line)?.[0] ?? '').replace(/^git\s+/, 'git-').toLowerCase();
  return name.slice(name.lastIndexOf('/') + 1);
}

const isPreliminary = (command: SimpleCommand | undefined): boolean =>
  command !== undefined && PRELIMINARIES.has(programOf(command.text)) && !writes(command.text);

/** `cat > file`, but not `2>&1` or `> /dev/null`. */
const writes = (text: string): boolean => /(?:^|[^>&0-9-])>{1,2}\s*(?!\/dev\/)[^>&\s]/.test(unquoted(text));

const FILE_PRINTERS = words(
  'cat zcat tac nl head tail less more bat batcat sed awk gawk get-content gc type open edit goto scroll_down scroll_up ' +
    'diff colordiff git-show git-diff git-blame git-annotate git-cat-file git-range-diff git-format-patch git-difftool',
);
/** They print patches if they are asked to. */
const PATCH_PRINTERS = words('git-log git-stash git-whatchanged git-reflog gh hg svn');
/** A command without any of their names prints no file. */
const PRINTERS = new RegExp(
  String.raw`\b(?:git|${[...FILE_PRINTERS, ...PATCH_PRINTERS].filter((name) => !name.startsWith('git-')).join('|')})\b`,
  'i',
);
const PRINTED_EACH = /(?:\bxargs|\s-exec(?:dir)?|\s-x)\s.*\b(?:cat|nl|head|tail|sed|awk|bat|git (?:show|diff))\b/s;

/** A program in the middle of a pipeline prints no file: `npm test | tail -20`. `cat a.ts | grep x` searches. */
function printsFile(command: string): boolean {
  if (command.length > LONGEST_COMMAND) return true;
  if (!PRINTERS.test(command)) return false;
  const commands = simpleCommands(command);
  return commands.some(({ text }, i) => {
    const isFiltered = commands[i - 1]?.joiner === '|';
    if (PRINTED_EACH.test(unquoted(text))) return true;
    const script = /sh(?:ell)?(?:\.exe)?\s+-\w*c\s/.test(text) ? scriptIn(wordsIn(text)) : undefined;
    if (script !== undefined) return printsFile(script);
    return !isFiltered && isFilePrinter(text) && !isSearched(commands, i);
  });
}

const KEYWORDS = /^(?:(?:do|then|else|if|while|!|\{)\s+)+/;
const GIT_OPTIONS = /^git\s+(?:(?:-C|-c)\s+\S+\s+|-P\s+|--\S+\s+)+/;

function isFilePrinter(text: string): boolean {
  const line = text.replace(KEYWORDS, '').replace(GIT_OPTIONS, 'git ');
  const program = programOf(line);
  if (writes(line)) return false;
  if (PATCH_PRINTERS.has(program)) return /\s(?:-p|-u|-\d*p|--patch|-U\d*|-L\S*|diff|cat)(?:\s|$)/.test(line);
  return FILE_PRINTERS.has(program);
}

/** A filter of this pipeline searches. */
function isSearched(commands: readonly SimpleCommand[], from: number): boolean {
  for (let i = from; commands[i]?.joiner === '|'; i++)
    if (SEARCHERS.has(programOf(commands[i + 1]?.text ?? ''))) return true;
  return false;
}

/** With a directory where nothing else shows anything. */
function readPipeline(pipeline: readonly string[], directory: string | undefined): ToolUse {
  const [first = '', ...filters] = pipeline;
  const program = programOf(first);
  const isInPlace = (program === 'sed' || program === 'perl') && /\s(?:-\w*i|--in-place)/.test(unquoted(first));
  if (WRITERS.has(program) || isInPlace) return EDIT;
  const isPrinted = READERS.has(program) || program === 'echo' || program === 'printf';
  if (isPrinted && pipeline.some(writes)) return EDIT;
  if (SEARCHERS.has(program)) return SEARCH;
  if (!READERS.has(program)) return SHELL;
  const programs = filters.map(programOf);
  if (programs.some((name) => SEARCHERS.has(name))) return SEARCH;
  if (!programs.every((name) => READERS.has(name))) return SHELL;
  return readOf(directory === undefined ? undefined : rangeOf(pipeline, directory));
}

/** `cat file`, `sed -n '10,40p' file`, `head -n 40 file`; a `cat` may have one of the others behind it. */
function rangeOf([first = '', filter, more]: readonly string[], directory: string): LineRange | undefined {
  const shown = sliceOf(first);
  const part = filter === undefined ? ALL : sliceOf(filter);
  if (!shown?.path || !part || part.path || more !== undefined || /[$`*?{[~<>\\]/.test(shown.path)) return undefined;
  const isWhole = shown.from === ALL.from && shown.to === ALL.to;
  if (!isWhole && filter !== undefined) return undefined;
  const { from, to } = isWhole ? part : shown;
  return toRange(inside(directory, shown.path), from, to);
}

interface Slice {
  readonly path?: string | undefined;
  readonly from: number;
  readonly to: number;
}

const ALL: Slice = { from: 1, to: Number.POSITIVE_INFINITY };

/** Each with the words before the path. */
const SLICES: Readonly<Record<string, RegExp>> = {
  cat: /^(?:-\w+ )*/,
  nl: /^(?:-\w+ )*/,
  sed: /^-n (?<from>\d+)(?:,(?<to>\d+|\$))?p /,
  head: /^-(?:n ?)?(?<to>\d+) /,
  tail: /^-n ?\+(?<from>\d+) /,
};

/** The lines that one program shows of a file, or, without a path, of what it is given. */
function sliceOf(text: string): Slice | undefined {
  const [program = '', ...rest] = wordsIn(text).filter((word) => !/^2>/.test(word));
  const line = `${rest.join(' ')} `;
  const found = Object.hasOwn(SLICES, program) ? SLICES[program]?.exec(line) : undefined;
  const path = line.slice(found?.[0].length).trim();
  if (!found || path.includes(' ') || path.startsWith('-')) return undefined;
  const { from = '1', to = program === 'sed' ? from : '$' } = found.groups ?? {};
  return { path: path || undefined, from: Number(from), to: to === '$' ? ALL.to : Number(to) };
}

const inside = (directory: string, path: string): string =>
  directory === '' || path.startsWith('/') ? path : `${directory}/${path}`;
