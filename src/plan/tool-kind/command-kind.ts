import { type SimpleCommand, simpleCommands, withoutQuotes, wordsIn, writesFile } from './command-line.ts';
import { words } from './remembered.ts';
import { EDIT, type LineRange, readOf, SEARCH, SHELL, type ToolUse, toRange } from './tool-use.ts';
import { unwrap } from './wrappers.ts';

const READERS = words('cat nl head tail less more bat sed awk open goto scroll_down scroll_up get-content');
export const SEARCHERS: ReadonlySet<string> = words(
  'grep egrep fgrep rg ag ack find fd ls tree locate find_file search_dir search_file git-grep git-ls-files ' +
    'select-string get-childitem findstr',
);
const WRITERS = words('edit create insert patch tee apply_patch git-apply truncate set-content add-content out-file');
/** Only the beginning of a longer command is read: it shows the purpose. */
export const LONGEST_COMMAND = 4000;

/** Commands that only choose a folder, or show nothing worth keeping. */
const PRELIMINARIES = words('cd pushd export source . set pwd true : echo printf');

const MOVERS = words('cd pushd popd set-location');

/** The purpose of a command is that of its first program which does more than prepare. Without a directory, paths are unknown. */
export function readCommand(line: string, directory: string | undefined): ToolUse {
  const commands = [...simpleCommands(line.slice(0, LONGEST_COMMAND))];
  let here = directory;
  while (commands.length > 1 && commands[0]?.joiner !== '|' && isPreliminary(commands[0])) {
    const [program = '', to = ''] = wordsIn(commands[0]?.text ?? '');
    if ((program === 'cd' || program === 'pushd') && here !== undefined) here = inside(here, to);
    commands.shift();
  }
  const { program, script, isElsewhere } = unwrap(commands[0]?.text ?? '');
  if (commands.length === 1 && MOVERS.has(program) && !isElsewhere) return { kind: 'shell', moves: true };
  if (script !== undefined && commands.length === 1) return readCommand(script, isElsewhere ? undefined : here);
  const end = commands.findIndex(({ joiner }) => joiner !== '|') + 1;
  return readPipeline(
    program,
    commands.slice(0, end).map(({ text }) => text),
    end === commands.length ? here : undefined,
  );
}

const programOf = (text: string): string => unwrap(text).program;

const isPreliminary = (command: SimpleCommand | undefined): boolean =>
  command !== undefined && PRELIMINARIES.has(programOf(command.text)) && !writesFile(command.text);

/** `directory` is given only if no other command shows anything. */
function readPipeline(program: string, pipeline: readonly string[], directory: string | undefined): ToolUse {
  const [first = '', ...filters] = pipeline;
  const isInPlace = (program === 'sed' || program === 'perl') && /\s(?:-\w*i|--in-place)/.test(withoutQuotes(first));
  if (WRITERS.has(program) || isInPlace) return EDIT;
  const isPrinted = READERS.has(program) || program === 'echo' || program === 'printf';
  if (isPrinted && pipeline.some(writesFile)) return EDIT;
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

/** The lines that one program shows of a file, or, without a path, of its input. */
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
