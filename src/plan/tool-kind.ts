/** What a tool does, as far as it tells how soon its results go cold. */
export type ToolKind = 'read' | 'search' | 'shell' | 'edit' | 'other';

export const KINDS: readonly ToolKind[] = ['read', 'search', 'shell', 'edit', 'other'];

/** A call, understood: what kind it is and, for a read, which lines of which file it shows. */
export interface ToolUse {
  readonly kind: ToolKind;
  readonly read?: LineRange;
}

/** Lines count from 1; `to` is Infinity where the call asked for all. */
export interface LineRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** Recognises a call by its tool's name and its arguments. */
export function readToolUse(tool: string | undefined, args: string): ToolUse {
  const kind = kindOfName(tool ?? '');
  if (kind === 'shell') return readCommand(commandIn(args));
  const fields = kind === 'read' || kind === 'editor' ? fieldsIn(args) : {};
  if (kind === 'editor' && fields.command !== 'view') return EDIT;
  if (kind !== 'read' && kind !== 'editor') return { kind };
  const read = rangeIn(fields);
  return read ? { kind: 'read', read } : { kind: 'read' };
}

/** Whether a newer read shows all that an older one showed. */
export function covers(newer: LineRange, older: LineRange): boolean {
  return newer.path === older.path && newer.from <= older.from && newer.to >= older.to;
}

const EDIT: ToolUse = { kind: 'edit' };
const SHELL: ToolUse = { kind: 'shell' };
const SEARCH: ToolUse = { kind: 'search' };

/** In this order: `grep_search` searches, `str_replace_editor` edits or views, `read_file` reads. */
const NAMES: readonly (readonly [ToolKind | 'editor', RegExp])[] = [
  ['editor', /^(?:str_replace(?:_based)?_edit(?:or)?(?:_tool)?|text_editor|editor)$/],
  [
    'edit',
    /^(?:(?:apply_|multi_?)?(?:edit|patch|write|replace)|(?:create|insert|save|update|append|edit|write|patch|replace)(?:_to|_in)?_(?:file|files|text|lines?|code|diff|notebook)|notebook_edit|str_replace|apply_diff|file_(?:write|edit|create|append)|search_and_replace|insert_content)$/,
  ],
  [
    'search',
    /^(?:grep|glob|rg|ripgrep|ls|tree|find|search|(?:grep|glob|file|code|codebase|web|semantic)_?search|search_(?:file|files|file_content|code|codebase|text|dir|directory|web)|find_(?:file|files|symbol|references)|list_?(?:files|dir|directory|directories)?|file_(?:search|list|grep)|web_?search)$/,
  ],
  [
    'shell',
    /^(?:bash|sh|shell|terminal|command|exec|run|local_shell|powershell|(?:execute|run|exec)_(?:bash|shell|terminal_cmd|shell_command|command|commands|cmd|script|in_terminal)|shell_(?:command|exec)|bash_?output|exec_command|developer_shell)$/,
  ],
  [
    'read',
    /^(?:read|view|cat|open|show|(?:read|view|open|get|show|cat|fetch)_(?:many_)?(?:file|files|file_content|file_contents|image|range|lines|source|code)|file_read|notebook_read|web_?fetch|fetch|fetch_url)$/,
  ],
];

function kindOfName(name: string): ToolKind | 'editor' {
  const plain = name
    .replace(/^.*(?:__|\.|:|\/)/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_');
  return NAMES.find(([, pattern]) => pattern.test(plain))?.[0] ?? 'other';
}

type Fields = Readonly<Record<string, unknown>>;

/** More is no call for a range of lines, and not worth to be parsed. */
const LONGEST = 20_000;

function fieldsIn(args: string): Fields {
  if (!args.startsWith('{') || args.length > LONGEST) return {};
  try {
    return JSON.parse(args) as Fields;
  } catch {
    return {};
  }
}

const PATH_KEYS = ['file_path', 'filePath', 'path', 'absolute_path', 'filename', 'file', 'target_file', 'url'];

function rangeIn(fields: Fields): LineRange | undefined {
  const path = PATH_KEYS.map((key) => fields[key]).find((value) => typeof value === 'string' && value !== '');
  if (typeof path !== 'string') return undefined;
  const view = fields.view_range ?? fields.viewRange;
  if (Array.isArray(view)) return lines(path, view[0], Number(view[1]) < 0 ? undefined : view[1]);
  const start = fields.offset ?? fields.start_line ?? fields.startLine ?? fields.start;
  const end = fields.end_line ?? fields.endLine ?? fields.end;
  const limit = numberOr(fields.limit, Number.POSITIVE_INFINITY);
  return lines(path, start, end ?? numberOr(start, 1) + limit - 1);
}

function lines(path: string, from: unknown, to: unknown): LineRange {
  return {
    path: path.replace(/^(?:\.\/)+/, '').replace(/\/{2,}/g, '/'),
    from: Math.max(1, numberOr(from, 1)),
    to: numberOr(to, Number.POSITIVE_INFINITY),
  };
}

function numberOr(value: unknown, otherwise: number): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && !Number.isNaN(number) ? number : otherwise;
}

/** The command line in the arguments of a shell, whatever they call it. */
function commandIn(args: string): string {
  const fields = fieldsIn(args);
  const command = fields.command ?? fields.cmd ?? fields.commands ?? fields.script ?? fields.code;
  if (typeof command === 'string') return command;
  // ["bash", "-lc", "ls"]
  if (Array.isArray(command))
    return /^(?:ba|z|da)?sh$/.test(String(command[0])) ? String(command.at(-1)) : command.join(' ');
  return args.startsWith('{') ? '' : args;
}

const READERS = /^(?:cat|nl|head|tail|less|more|bat|open|goto|scroll_down|scroll_up)$/;
const SEARCHERS =
  /^(?:grep|egrep|fgrep|rg|ag|ack|find|fd|ls|tree|locate|find_file|search_dir|search_file|git\s+(?:grep|ls-files))$/;
const WRITERS = /^(?:edit|create|insert|patch|tee|apply_patch|git\s+apply|truncate)$/;

/** What a shell command is for is what its first program is for; a change of directory before it says nothing. */
function readCommand(command: string): ToolUse {
  const line = command.replace(/^\s*(?:cd\s+[^;&|\n]+\s*(?:&&|;|\n)\s*)+/, '').trimStart();
  const program = /^(?:git\s+\S+|\S+)/.exec(line)?.[0] ?? '';
  const writes = /(?:^|[^>&0-9-])>{1,2}\s*[^>&\s]/.test(line.split('\n', 1)[0] ?? '');
  if (WRITERS.test(program) || (program === 'sed' && /\s-i/.test(line))) return EDIT;
  if (READERS.test(program) || (program === 'sed' && /\s-n/.test(line))) return writes ? EDIT : readFile(line);
  if (SEARCHERS.test(program)) return SEARCH;
  return SHELL;
}

/** `sed -n '10,40p' file` and `cat file`, and nothing around them. */
const SED = /^sed\s+-n\s+(['"]?)(\d+)(?:,(\d+|\$))?p\1\s+(['"]?)([^\s'"|;&<>]+)\4\s*$/;
const CAT = /^(?:cat|nl)(?:\s+-\w+)*\s+(['"]?)([^\s'"|;&<>*-][^\s'"|;&<>*]*)\1\s*$/;

function readFile(line: string): ToolUse {
  const sed = SED.exec(line);
  if (sed)
    return { kind: 'read', read: lines(sed[5] as string, sed[2], sed[3] === '$' ? undefined : (sed[3] ?? sed[2])) };
  const cat = CAT.exec(line);
  return cat ? { kind: 'read', read: lines(cat[2] as string, undefined, undefined) } : { kind: 'read' };
}
