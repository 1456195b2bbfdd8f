import { remembered, words } from './remembered.ts';
import type { ToolKind } from './tool-use.ts';

/** The facts about a tool that its name shows. */
export interface NamedTool {
  /** An `editor` edits or views, depending on its `command`. */
  readonly kind: ToolKind | 'editor';
  /** Whether its results hold text of files: `git_diff`, `get_function_source`. */
  readonly holdsFileText: boolean;
}

export const readToolName: (name: string) => NamedTool = remembered((name) => {
  const plain = name
    .replace(/^.*(?:__|\.|:|\/)/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_');
  const said = plain.split('_').flatMap(apart);
  const kind = EDITOR.test(plain) ? 'editor' : kindOf(said);
  const holdsFileText =
    kind === 'read' ||
    kind === 'edit' ||
    kind === 'editor' ||
    said.some((word) => FILE_TEXTS.has(word)) ||
    (said.includes('git') && said.includes('show'));
  return { kind, holdsFileText };
});

/** Verbs that are clear by themselves. In this order: `search_and_replace` edits, `find_file` searches. */
const VERBS: readonly (readonly [ToolKind, ReadonlySet<string>])[] = [
  ['edit', words('edit write replace patch insert append create apply')],
  ['search', words('grep glob rg ripgrep ls tree find finder search list locate')],
  ['read', words('read view open show cat fetch')],
];
/** Verbs that need the word file: `get_file_contents`, but not `get_order`. */
const WEAK_VERBS: readonly (readonly [ToolKind, ReadonlySet<string>])[] = [
  ['edit', words('update delete remove save move rename undo')],
  ['read', words('get load')],
];
const FILES = words('file files fs filesystem dir directory directories folder notebook codebase web webpage');
/** Words that change nothing. Any other word may: `write_file` writes a file, `write_todos` does not. */
const FILLERS = words(
  'multi many multiple all and or of in into to for by with str string text line lines range code content contents ' +
    'block body symbol symbols regex pattern name names path image url source sem semantic definition definitions ' +
    'references usages diff tool',
);
const SHELLS = words('bash sh zsh shell powershell pwsh terminal console ipython stdin');
const RUNS = words('run exec execute');
const RUN_OBJECTS = words('command commands cmd script python code test tests process');

const VOCABULARY = new Set([...VERBS, ...WEAK_VERBS].flatMap(([, verbs]) => [...verbs]).concat(...FILES, ...FILLERS));

/** Words for text of files, whatever else a name says: `git_diff_staged`, `pull_request_read`. */
const FILE_TEXTS = words('diff diffs patch blame source read');

/** `str_replace_editor`, `file_editor`: they edit or view, depending on their `command`. */
const EDITOR = /(?:^|_)(?:editor|edit_tool)$/;

function kindOf(said: readonly string[]): ToolKind {
  if (isShell(said)) return 'shell';
  const namesFiles = said.some((word) => FILES.has(word));
  if (!namesFiles && !said.every((word) => VOCABULARY.has(word))) return 'other';
  const verbs = namesFiles ? [...VERBS, ...WEAK_VERBS] : VERBS;
  return verbs.find(([, known]) => said.some((word) => known.has(word)))?.[0] ?? 'other';
}

/** Splits `webfetch` into two words. A longer word is never two of ours. */
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
