import {
  asksForContext,
  commandIn,
  directoryIn,
  fieldsIn,
  inputIn,
  LONGEST_ARGUMENTS,
  rangeIn,
} from './tool-kind/call-fields.ts';
import { readCommand } from './tool-kind/command-kind.ts';
import { codePrintsFile, printsFile } from './tool-kind/prints-file.ts';
import { readToolName } from './tool-kind/tool-name.ts';
import { EDIT, type LineRange, readOf, type ToolUse } from './tool-kind/tool-use.ts';

export { KINDS, type LineRange, type ToolKind, type ToolUse } from './tool-kind/tool-use.ts';

/** Recognises a call by its tool's name and its arguments. */
export function readToolUse(tool: string | undefined, args: string): ToolUse {
  // Several parts of the planner ask about the same call in a row.
  if (lastUse.tool !== tool || lastUse.args !== args) lastUse = { tool, args, use: useOf(tool, args) };
  return lastUse.use;
}

let lastUse: { tool: string | undefined; args: string; use: ToolUse } = {
  tool: undefined,
  args: '',
  use: { kind: 'other' },
};

function useOf(tool: string | undefined, args: string): ToolUse {
  const { kind } = readToolName(tool ?? '');
  if (kind !== 'shell' && kind !== 'read' && kind !== 'editor') return { kind };
  const fields = fieldsIn(args);
  if (kind === 'shell') return readCommand(commandIn(fields, args), directoryIn(fields));
  return kind === 'editor' && fields.command !== 'view' ? EDIT : readOf(rangeIn(fields));
}

/**
 * Whether the result of a call may hold text of files, which agents quote exactly in edits: reads, the snippet that an edit prints,
 * `cat`, `sed -n`, diffs, the lines around the findings of a search. If in doubt, true: the result is then cleaned less.
 */
export function mayHoldFileText(tool: string | undefined, args: string): boolean {
  const { kind, holdsFileText } = readToolName(tool ?? '');
  if (holdsFileText) return true;
  const fields = fieldsIn(args);
  if (kind === 'search') return asksForContext(fields);
  if (typeof fields.code === 'string') return codePrintsFile(fields.code);
  if (SCRIPT.test(args) && codePrintsFile(args)) return true;
  if (kind !== 'shell') return asksForContext(fields);
  return args.length > LONGEST_ARGUMENTS || printsFile(commandIn(fields, args)) || printsFile(inputIn(fields));
}

/** Arguments that are a script, and no JSON: it can call other tools. */
const SCRIPT = /^\s*(?:const|let|var|await|console|text)\b/m;

/** Whether a newer read shows everything that an older one showed. */
export function covers(newer: LineRange, older: LineRange): boolean {
  return newer.path === older.path && newer.from <= older.from && newer.to >= older.to;
}
