import type { Call } from './transcript.ts';

/** A reply of an agent that writes its actions as text: the text without the actions, and the actions as calls. */
export interface SplitReply {
  readonly text: string;
  readonly calls: readonly Call[];
}

/** Cuts out the fenced blocks that mini-swe-agent runs. */
export function splitBashBlocks(reply: string): SplitReply {
  return splitAll(reply, /```(?:bash|mswea_bash_command)\s*\n([\s\S]*?)\n```/g, ([, command = '']) => ({
    name: 'bash',
    arguments: command,
  }));
}

/** Cuts out `<function=name><parameter=key>value</parameter></function>`. The last one may lack its end, which is a stop word. */
export function splitFunctions(reply: string): SplitReply {
  return splitAll(reply, /<function=([^>\s]+)>([\s\S]*?)(?:<\/function>|$)/g, ([, name = '', body = '']) => ({
    name,
    arguments: argumentsIn(body, /<parameter=([^>\s]+)>([\s\S]*?)<\/parameter>/g),
  }));
}

/** Cuts out `<tool_name><key>value</key></tool_name>`. */
export function splitTags(reply: string): SplitReply {
  return splitAll(reply, /<([a-z]+(?:_[a-z]+)+)>(\s*<(\w+)>[\s\S]*?)<\/\1>/g, ([, name = '', body = '']) => ({
    name,
    arguments: argumentsIn(body, /<(\w+)>([\s\S]*?)<\/\1>/g),
  }));
}

function splitAll(reply: string, pattern: RegExp, toCall: (match: RegExpMatchArray) => Call): SplitReply {
  const calls = [...reply.matchAll(pattern)].map(toCall);
  return { text: calls.length > 0 ? reply.replace(pattern, '').trim() : reply, calls };
}

function argumentsIn(body: string, pattern: RegExp): string {
  const pairs = [...body.matchAll(pattern)].map(([, key = '', value = '']) => [key, value.replace(/^\n|\n$/g, '')]);
  return JSON.stringify(Object.fromEntries(pairs));
}

/** Cuts out the last fenced block, which SWE-agent runs. */
export function splitLastBlock(reply: string): SplitReply {
  const block = lastBlock(reply);
  if (!block) return { text: reply, calls: [] };
  const text = `${reply.slice(0, block.from)}${reply.slice(block.to)}`.trim();
  return { text, calls: [{ name: 'bash', arguments: block.inside.trim() }] };
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly inside: string;
}

/** A block may contain fences: one with a language opens a block, a bare one closes the open block. */
function lastBlock(reply: string): Block | undefined {
  const open: RegExpMatchArray[] = [];
  let found: Block | undefined;
  for (const fence of reply.matchAll(/^```(\S*)[ \t]*$/gm)) {
    const begin = fence[1] === '' ? open.pop() : undefined;
    if (!begin) open.push(fence);
    else if (open.length === 0) found = blockBetween(reply, begin, fence);
  }
  return found;
}

function blockBetween(reply: string, begin: RegExpMatchArray, end: RegExpMatchArray): Block {
  const from = begin.index ?? 0;
  const to = end.index ?? 0;
  return { from, to: to + end[0].length, inside: reply.slice(from + begin[0].length, to) };
}
