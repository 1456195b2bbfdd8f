import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { STORAGE_FOLDERS } from './opencode-storage.ts';
import { reasonOf } from './records.ts';

type OnSkip = (path: string, reason: string) => void;

/**
 * The files that paths name, sorted and each once. A folder means all logs in it, a glob everything it matches; a file and
 * `-` stay as they are. Missing paths are reported.
 */
export async function findLogs(paths: readonly string[], onSkip: OnSkip = () => {}): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths)
    for (const match of await expand(path, onSkip)) for await (const file of filesIn(match, onSkip)) found.add(file);
  return [...found].sort();
}

/** An existing path is never read as a glob. */
async function expand(path: string, onSkip: OnSkip): Promise<string[]> {
  if (!/[*?[{]/.test(path) || (await exists(path))) return [path];
  const matches = await matchGlob(path, onSkip);
  if (matches.length === 0) onSkip(path, 'it matches no file');
  return matches;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const LOG_NAME = /\.(jsonl?|traj)(\.gz|\.zst)?$/;

async function* filesIn(path: string, onSkip: OnSkip): AsyncGenerator<string> {
  try {
    if (path === '-' || !(await stat(path)).isDirectory()) yield path;
    else for await (const inside of walk(path, onSkip)) if (LOG_NAME.test(inside)) yield inside;
  } catch (error) {
    onSkip(path, reasonOf(error));
  }
}

/** A folder of this name inside another has packages, and no logs. */
const PACKAGES = 'node_modules';

/** All files in a folder, at any depth. Of OpenCode's storage, only its sessions. Leaves out links to folders, which may lead in circles, and pipes, which may never end. */
async function* walk(folder: string, onSkip: OnSkip): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    onSkip(folder, reasonOf(error));
    return [];
  });
  const isStorage = STORAGE_FOLDERS.every((name) =>
    entries.some((entry) => entry.name === name && entry.isDirectory()),
  );
  for (const entry of entries) {
    if (isStorage && entry.name !== 'session') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== PACKAGES) yield* walk(path, onSkip);
    } else if (await endsSomewhere(entry, path)) yield path;
    else if (LOG_NAME.test(path)) onSkip(path, 'it is a pipe or a device; name it to read it');
  }
}

async function endsSomewhere(entry: Dirent, path: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  // Whoever reads a link to nothing or to a folder tells why that fails.
  const found = await stat(path).catch(() => undefined);
  return !found || found.isFile() || found.isDirectory();
}

/** A glob names files, or folders with logs in them. */
async function matchGlob(glob: string, onSkip: OnSkip): Promise<string[]> {
  const pattern = new RegExp(`^${globSource(join(glob))}(?<inside>[/\\\\].*)?$`);
  const base = dirname(`${glob.slice(0, glob.search(/[*?[{]/))}x`);
  const matches: string[] = [];
  if (!(await exists(base))) return matches;
  for await (const path of walk(base, onSkip)) {
    const match = pattern.exec(path);
    if (match && (match.groups?.inside === undefined || LOG_NAME.test(path))) matches.push(path);
  }
  return matches;
}

/** `*`, `?`, `[abc]` and `{a,b}` within a name, `**` over folders. */
function globSource(glob: string): string {
  return glob.replace(/\*\*[/\\]?|\[[^\]]+\]|\{[^{}]*\}|[*?]|[.+^$()|[\]{}\\]/g, (part) => {
    if (part.length === 1) return GLOB_CHARACTERS[part] ?? `\\${part}`;
    if (part.startsWith('[')) return classSource(part.replace(/^\[!/, '[^'));
    if (part.startsWith('{')) return `(?:${part.slice(1, -1).split(',').map(globSource).join('|')})`;
    return part === '**' ? '.*' : '(?:.*[/\\\\])?';
  });
}

/** A range that goes backwards, `[z-a]`, is no pattern. It matches nothing. */
function classSource(source: string): string {
  try {
    return new RegExp(source).source;
  } catch {
    return '(?!)';
  }
}

const GLOB_CHARACTERS: Readonly<Record<string, string>> = { '*': '[^/\\\\]*', '?': '[^/\\\\]' };
