const READ: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
  EPERM: 'it may not be read',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
};

const WRITE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be written',
  EPERM: 'it may not be written',
  EROFS: 'its disk is read-only',
  ENOSPC: 'its disk is full',
};

/** Why a file cannot be read. Node's own message begins with a code and repeats the path. */
export const whyNotRead = (error: unknown): string => wordsFor(error, READ);

export const whyNotWritten = (error: unknown): string => wordsFor(error, WRITE);

function wordsFor(error: unknown, words: Readonly<Record<string, string>>): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return words[code ?? ''] ?? message;
}
