/** Keeps the last state of a line that was overwritten with carriage returns. `\r\n` stays a line end. */
export function keepLastStates(text: string): string {
  const isOverwritten = text.includes('\r') && /\r(?!\n)/.test(text);
  return isOverwritten ? text.split('\n').map(lastState).join('\n') : text;
}

function lastState(line: string): string {
  if (!line.includes('\r')) return line;
  let end = line.length;
  while (line.charCodeAt(end - 1) === RETURN) end -= 1;
  const shown = line.slice(line.lastIndexOf('\r', end - 1) + 1, end);
  return end === line.length ? shown : `${shown}\r`;
}

const RETURN = 13;
