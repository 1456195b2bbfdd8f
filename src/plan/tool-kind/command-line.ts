import { rememberedLast } from './remembered.ts';

/** One command of a command line. */
export interface SimpleCommand {
  /** The text as written, without comments and without the lines of a heredoc. */
  readonly text: string;
  /** The operator between it and the next. */
  readonly joiner: string;
  /** The lines that `<<EOF` gives it. */
  readonly heredoc: string;
}

/** The commands of a line. Quotes hold together what they enclose. */
export const simpleCommands: (line: string) => readonly SimpleCommand[] = rememberedLast((line) => {
  if (!/[\\'"&|;\n#]/.test(line)) return line.trim() === '' ? [] : [{ text: line.trim(), joiner: '', heredoc: '' }];
  const commands: { text: string; joiner: string; heredoc: string }[] = [];
  let text = '';
  let heredocs: Heredoc[] = [];
  const end = (joiner: string): void => {
    if (text.trim() !== '') commands.push({ text: text.trim(), joiner, heredoc: '' });
    text = '';
  };
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(line); found; found = TOKEN.exec(line)) {
    const [token] = found;
    const delimiter = found[1] ?? found[2] ?? found[3];
    if (delimiter !== undefined) heredocs.push({ delimiter, command: commands.length });
    // A comment ends with its line.
    if (token === '#' && /(?:^|\s)$/.test(text)) TOKEN.lastIndex = endOfLine(line, found.index);
    else if (JOINER.test(token)) end(token);
    else text += token;
    if (token !== '\n') continue;
    for (const heredoc of heredocs) {
      const from = TOKEN.lastIndex;
      TOKEN.lastIndex = endOfHeredoc(line, from, heredoc.delimiter);
      const command = commands[heredoc.command];
      if (command) command.heredoc += line.slice(from, TOKEN.lastIndex);
    }
    heredocs = [];
  }
  end('');
  return commands;
});

interface Heredoc {
  readonly delimiter: string;
  /** The number of the command that it is for. */
  readonly command: number;
}

const TOKEN =
  /\\.|'[^']*'|"(?:\\.|[^"\\])*"|<<<|<<-?[ \t]*(?:'(\w+)'|"(\w+)"|\\?([a-z_]\w*))|&&|\|\||[|;\n#]|[^\\'"&|;\n#<]+|./gis;
const JOINER = /^(?:&&|\|\|?|;|\n)$/;

/** The position after the line that ends a heredoc. Without such a line, the end of the text. */
function endOfHeredoc(line: string, start: number, delimiter: string): number {
  for (let from = start; from < line.length; ) {
    const end = endOfLine(line, from);
    if (line.slice(from, end).trim() === delimiter) return Math.min(line.length, end + 1);
    from = end + 1;
  }
  return line.length;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** The words of a command, without their quotes. */
export function wordsIn(text: string): string[] {
  if (!/['"\\]/.test(text)) return text.match(/\S+/g) ?? [];
  return (text.match(WORD) ?? []).map((word) => word.replace(QUOTED, unquote));
}

const WORD = /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs;
const QUOTED = /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs;

const unquote = (_: string, single?: string, double?: string, escaped?: string): string =>
  single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? '';

/** A word of a list as it is written in a command line. Operators stay operators. */
export const quoted = (word: string): string =>
  word === '' || /[\s'"\\]/.test(word) ? `'${word.replaceAll("'", String.raw`'\''`)}'` : word;

/** A command without the text in its quotes. */
export const withoutQuotes = (text: string): string => text.replace(/'[^']*'|"(?:\\.|[^"\\])*"/gs, "''");

/** `cat > file`, but not `2>&1` or `> /dev/null`. */
export const writesFile = (text: string): boolean =>
  /(?:^|[^>&0-9-])>{1,2}\s*(?!\/dev\/)[^>&\s]/.test(withoutQuotes(text));
