import type { Argument } from './call-arguments.ts';
import { isPatch, readPatch } from './patch.ts';
import { shellOldTexts } from './shell-edits.ts';

/** The old text of every edit that a call makes, one text for each place it edits. */
export function oldTextsOf(args: readonly Argument[]): string[] {
  return args.flatMap((argument) => {
    if (isOldText(argument)) return [argument.text];
    if (isPatch(argument.text)) return readPatch(argument.text).hunks.map((hunk) => hunk.join('\n'));
    return isShellCommand(argument) ? shellOldTexts(argument.text) : [];
  });
}

/** The lines of an old text that are long enough to search for. */
export function editLines(oldText: string): string[] {
  const lines = oldText
    .split('\n')
    .slice(0, MOST_LINES)
    .map((line) => line.trim())
    .filter((line) => line.length >= LEAST_LENGTH && /[A-Za-z0-9_]{3}/.test(line))
    .map((line) => line.slice(0, MOST_CHARACTERS));
  return [...new Set(lines)];
}

/** Whether the value must be found in a file word for word, judged by its key. */
export const isOldText = ({ keys }: Argument): boolean => OLD_TEXT_KEYS.has(keys.at(-1) ?? '');

/** An argument without a name is the whole action of an agent that writes its commands as text. */
export const isShellCommand = ({ keys }: Argument): boolean =>
  keys.length === 0 || keys.some((key) => SHELL_KEYS.has(key));

const OLD_TEXT_KEYS = new Set(['old_string', 'old_str', 'oldString', 'oldText', 'old_text', 'oldStr']);
const SHELL_KEYS = new Set(['command', 'commands', 'cmd', 'script']);

const MOST_LINES = 200;
const MOST_CHARACTERS = 4000;
const LEAST_LENGTH = 8;
