import { LONGEST_COMMAND, SEARCHERS } from './command-kind.ts';
import { quoted, type SimpleCommand, simpleCommands, withoutQuotes, writesFile } from './command-line.ts';
import { words } from './remembered.ts';
import { type Unwrapped, unwrap } from './wrappers.ts';

/**
 * Whether a command line prints text of files. A program in the middle of a pipeline prints none itself: `npm test | tail -20`. If in
 * doubt, true.
 */
export function printsFile(line: string): boolean {
  if (line.length > LONGEST_COMMAND) return true;
  const commands = simpleCommands(line);
  return commands.some((command, i) => {
    const isFed = commands[i - 1]?.joiner === '|';
    return isFilePrinter(command, isFed) && !isSearched(commands, i);
  });
}

/** Whether code in some language may print text of files: `print(open('a.ts').read())`. */
export function codePrintsFile(code: string): boolean {
  if (code.length > LONGEST_COMMAND || READS_FILES.test(code)) return true;
  return [...code.matchAll(COMMAND_IN_CODE)].some(([, line, , literal = '']) => printsFile(line ?? unescaped(literal)));
}

/** `!cat a.ts` in a notebook, and `exec_command({ cmd: "cat a.ts" })` in a script that calls tools. */
const COMMAND_IN_CODE = /^\s*[!%]+([^\n]*)|\b(?:cmd|command)["']?\s*:\s*(["'`])((?:\\.|(?!\2).)*)\2/gms;

const unescaped = (literal: string): string => literal.replaceAll('\\n', '\n').replace(/\\(.)/g, '$1');

const READS_FILES =
  /\b(?:open|fopen|readlines?|read_?text|read_?file(?:sync)?|file_get_contents|file\.(?:read|open|foreach)|slurp|linecache|getsource|difflib)\b/i;

const FILE_PRINTERS = words(
  'cat zcat tac nl head tail less more view bat batcat sed awk gawk cut fold expand pr iconv pygmentize ' +
    'get-content gc type open edit goto scroll_down scroll_up diff sdiff colordiff delta tee ' +
    'git-show git-diff git-blame git-annotate git-cat-file git-range-diff git-format-patch git-difftool',
);

/** Programs that print files only with certain arguments. */
const PRINTERS_WITH: readonly (readonly [ReadonlySet<string>, (args: readonly string[]) => boolean])[] = [
  [
    words('git-log git-stash git-whatchanged git-reflog gh glab hg svn'),
    (args) => args.some((word) => /^(?:-\d*p|-u|-U\d*|-L.*|--cc|--patch.*|--unified.*|diff|cat)$/.test(word)),
  ],
  [words('grep egrep fgrep rg ag ack git-grep select-string'), printsStretches],
  [words('perl'), (args) => args.some((word) => /^-\w*[np]/.test(word))],
  [words('unzip'), (args) => args.some((word) => /^-\w*p/.test(word))],
  [words('tar'), (args) => args.some((word) => /^-\w*O|^--to-stdout$/.test(word))],
  [words('gzip gunzip bzip2 xz zstd'), (args) => args.some((word) => /^-\w*c|^--stdout$/.test(word))],
];

const INTERPRETER = /^(?:python|pypy|ipython|node|deno|bun|ruby|perl|php|lua|rscript|osascript)[\d.]*$/;

function isFilePrinter({ text, heredoc }: SimpleCommand, isFed: boolean): boolean {
  const line = text.replace(KEYWORDS, '');
  const command = unwrap(line, { withOperands: true });
  if (command.script !== undefined) return printsFile(command.script);
  if (writesFile(line) || (isFed && !command.givesOperands)) return false;
  const { program, args } = command;
  // `find -exec` may run several commands.
  const next = command.givesOperands ? args.findIndex((word) => word.startsWith('-exec')) : -1;
  if (
    next >= 0 &&
    isFilePrinter({ text: `find ${args.slice(next).map(quoted).join(' ')}`, joiner: '', heredoc }, isFed)
  )
    return true;
  if (FILE_PRINTERS.has(program) || PRINTERS_WITH.some(([names, ask]) => names.has(program) && ask(args))) return true;
  if (INTERPRETER.test(program)) return runsCode(command, heredoc) && codePrintsFile(args.join(' ') + heredoc);
  if (program === 'done') return /<(?!<)/.test(withoutQuotes(line));
  return printsSubstitution(line, command);
}

const KEYWORDS = /^(?:(?:do|then|else|elif|if|while|until|!|\{)\s+)+/;

/** `python -c '…'`, `node -e '…'`, `python - <<EOF`; not `python a.py`. */
const runsCode = ({ args }: Unwrapped, heredoc: string): boolean =>
  heredoc !== '' || args.some((word) => /^(?:-\w*[cepr]|--eval|--print|eval)$/.test(word));

/** Whether a search prints more of a file than its matches: lines around them, all other lines, or every line. */
function printsStretches(args: readonly string[]): boolean {
  return (
    args.some((word) => STRETCHES.test(word)) ||
    /^(?:\^|\$|\.\*?|\^\.\*\$?)?$/.test(args.find((word) => !word.startsWith('-')) ?? 'x')
  );
}

const STRETCHES =
  /^(?:-[a-zA-Z]*[ABCv]\d*|-\d+|--(?:(?:after-|before-)?context|invert-match|passthru)(?:=.*)?|-[Cc]ontext)$/;

/** `echo "$(cat a.ts)"`, `x=$(<a.ts)`. */
function printsSubstitution(line: string, { program }: Unwrapped): boolean {
  if (program !== 'echo' && program !== 'printf' && !/^\w+=/.test(line)) return false;
  const inner = Array.from(line.matchAll(/\$\(([^()]*)\)|`([^`]*)`/g), (found) => found[1] ?? found[2] ?? '');
  return inner.some((command) => /^\s*</.test(command) || printsFile(command));
}

/** Whether a filter of this pipeline searches. */
function isSearched(commands: readonly SimpleCommand[], from: number): boolean {
  for (let i = from; commands[i]?.joiner === '|'; i++) {
    const { program, args } = unwrap(commands[i + 1]?.text ?? '');
    if (SEARCHERS.has(program) && !printsStretches(args)) return true;
  }
  return false;
}
