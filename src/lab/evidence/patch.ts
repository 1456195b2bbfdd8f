/** The parts of a patch in the notation of `apply_patch`. */
export interface Patch {
  readonly files: readonly string[];
  /** The old text of each hunk that changes a file: its context, the removed lines, and the text after `@@`. */
  readonly hunks: readonly (readonly string[])[];
  readonly added: readonly string[];
}

export const isPatch = (text: string): boolean => text.includes(BEGIN);

export function readPatch(text: string): Patch {
  const files: string[] = [];
  const hunks: string[][] = [];
  const added: string[] = [];
  let isUpdate = false;
  for (const line of patchLines(text)) {
    const header = HEADER.exec(line);
    if (header) {
      files.push((header[2] as string).trim());
      // A move belongs to the update around it.
      if (header[1] !== 'Move to') isUpdate = header[1] === 'Update File';
      hunks.push([]);
    } else if (line.startsWith('@@')) hunks.push(line.startsWith('@@ ') ? [line.slice(3)] : []);
    else if (line.startsWith('+')) added.push(line.slice(1));
    else if (isUpdate && (line.startsWith(' ') || line.startsWith('-'))) hunks.at(-1)?.push(line.slice(1));
  }
  return { files, hunks: hunks.filter((hunk) => hunk.length > 0), added };
}

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const HEADER = /^\*\*\* (Add File|Update File|Delete File|Move to): (.*)$/;

/** The lines between begin and end of every patch in a text. */
function patchLines(text: string): string[] {
  return text
    .split(BEGIN)
    .slice(1)
    .flatMap((patch) => (patch.split(END)[0] as string).split('\n'));
}
