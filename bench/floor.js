import { hash } from 'node:crypto';

/** How many of the last turns stay whole. */
const WINDOW = 10;

/** Placeholders written by hand: the house's, which tells what was hidden, and a constant text. */
const writers = {
  house: ({ name, arguments: args }, text) => {
    const { path, command, pattern } = JSON.parse(args);
    const lines = lineCount(text);
    return `[${name} ${path ?? command ?? pattern}: ${lines} line${lines === 1 ? '' : 's'}, ${text.length} chars masked]`;
  },
  constant: () => '[Observation omitted for brevity]',
};

function lineCount(text) {
  let lines = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < text.length - 1; i = text.indexOf('\n', i + 1)) lines += 1;
  return lines;
}

/**
 * The floor: what one would write by hand for exactly these messages. It counts turns, knows which call a result
 * answers, replaces what is outside the window, and shares everything else.
 */
export function maskByHand(messages, placeholder) {
  const end = outsideUntil(messages);
  const write = writers[placeholder];
  const masked = messages.slice();
  const calls = new Map();
  for (let i = 0; i < end; i++) {
    const message = messages[i];
    if (message.role === 'assistant') for (const call of message.tool_calls) calls.set(call.id, call.function);
    else if (message.role === 'tool') {
      const call = calls.get(message.tool_call_id);
      if (call) masked[i] = { ...message, content: write(call, message.content) };
    }
  }
  return masked;
}

/** The same, and counts every text and names each hidden one. */
export function maskCountAndHash(messages, placeholder, countTokens) {
  const end = outsideUntil(messages);
  const write = writers[placeholder];
  const masked = messages.slice();
  const calls = new Map();
  const hidden = [];
  let tokens = 0;
  for (let i = 0; i < messages.length; i++) {
    const message = messages[i];
    tokens += countTokens(message.content);
    if (message.role === 'assistant') {
      for (const call of message.tool_calls) {
        calls.set(call.id, call.function);
        tokens += countTokens(call.function.arguments);
      }
    } else if (message.role === 'tool' && i < end) {
      const call = calls.get(message.tool_call_id);
      if (!call) continue;
      const content = write(call, message.content);
      tokens += countTokens(content);
      hidden.push(hash('sha256', message.content, 'base64url'));
      masked[i] = { ...message, content };
    }
  }
  return { masked, hidden, tokens };
}

/** For information: no calls, no turns, a constant in place of all but the last ten results. */
export function maskBare(messages) {
  const masked = messages.slice();
  const end = messages.length - 2 * WINDOW;
  for (let i = 0; i < end; i++) {
    const message = messages[i];
    if (message.role === 'tool') masked[i] = { ...message, content: '[masked]' };
  }
  return masked;
}

/** The message with which the window begins. */
function outsideUntil(messages) {
  let turns = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    if (messages[i].role === 'assistant') turns += 1;
    if (turns === WINDOW) return i;
  }
  return 0;
}
