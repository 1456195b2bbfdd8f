import { asText, extraField, type Fields, fieldsOf, isFields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';

/** What stands in messages: roles, contents, pairs. */
export function checkMessages(body: Fields): void {
  const { messages } = body;
  if (!Array.isArray(messages)) throw new Rejection('messages: Input should be a valid array');
  checkText(fieldsOf(body.system), 'system');
  for (const [index, message] of messages.entries()) {
    if (!isFields(message)) throw new Rejection(`messages.${index}: Input should be an object`);
    checkMessage(message, index, index === messages.length - 1);
  }
  checkPairs(messages);
}

function checkMessage(message: Fields, index: number, isLast: boolean): void {
  const { role, content } = message;
  const extra = extraField(message, names('role content'));
  if (extra !== undefined) throw new Rejection(`messages.${index}.${extra}: Extra inputs are not permitted`);
  const isEmpty = content === '' || (Array.isArray(content) && content.length === 0);
  if (isEmpty && !(isLast && role === 'assistant'))
    throw new Rejection(
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    );
  if (typeof content === 'string' && content !== '') checkText([{ type: 'text', text: content }], 'messages');
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw new Rejection(`messages.${index}.content: Input should be a valid array`);
  for (const [i, block] of content.entries()) checkBlock(block, `messages.${index}.content.${i}`);
  checkText(content, 'messages');
}

const BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: names('type text cache_control citations'),
  image: names('type source cache_control transformations'),
  document: names('type source cache_control citations context title'),
  tool_use: names('type id name input cache_control caller toolset_name'),
  tool_result: names('type tool_use_id content is_error cache_control toolset_name'),
  thinking: names('type thinking signature'),
  redacted_thinking: names('type data'),
};

const OTHER_BLOCKS = names(
  'search_result tool_reference server_tool_use web_search_tool_result web_fetch_tool_result mcp_tool_use ' +
    'mcp_tool_result code_execution_tool_result bash_code_execution_tool_result container_upload compaction',
);

function checkBlock(block: unknown, place: string): void {
  if (!isFields(block)) throw new Rejection(`${place}: Input should be an object`);
  const type = asText(block.type);
  const known = BLOCKS[type];
  if (!known && OTHER_BLOCKS.has(type)) return;
  if (!known)
    throw new Rejection(`${place}: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  const extra = extraField(block, known);
  if (extra !== undefined) throw new Rejection(`${place}.${type}.${extra}: Extra inputs are not permitted`);
  CHECKS[type]?.(block, `${place}.${type}`);
}

const CHECKS: Readonly<Record<string, (block: Fields, place: string) => void>> = {
  text({ text }, place) {
    if (typeof text !== 'string') throw new Rejection(`${place}.text: Input should be a valid string`);
  },
  thinking({ signature, thinking }, place) {
    if (typeof thinking !== 'string') throw new Rejection(`${place}.thinking: Field required`);
    if (typeof signature !== 'string') throw new Rejection(`${place}.signature: Field required`);
  },
  tool_result({ content, is_error: isError }, place) {
    const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0);
    if (isError === true && isEmpty) throw new Rejection(`${place}: content cannot be empty if \`is_error\` is true`);
    if (typeof content === 'string' || content === undefined) return;
    if (!Array.isArray(content)) throw new Rejection(`${place}.content: Input should be a valid array`);
    for (const [i, inner] of content.entries()) checkBlock(inner, `${place}.content.${i}`);
    checkText(content, place.replace(/\..*/, ''));
  },
};

function checkText(blocks: readonly unknown[], place: string): void {
  for (const block of blocks) {
    if (!isFields(block) || block.type !== 'text') continue;
    // A marker on an empty block has words of its own.
    if (block.text === '' && !isFields(block.cache_control))
      throw new Rejection(`${place}: text content blocks must be non-empty`);
    if (block.text !== '' && asText(block.text).trim() === '')
      throw new Rejection(`${place}: text content blocks must contain non-whitespace text`);
  }
}

const idsOf = ({ content }: Fields, type: string, key: string): string[] =>
  fieldsOf(content).flatMap((block) => (block.type === type ? [asText(block[key])] : []));

/** Every call is answered in the very next message, before any other block of it, exactly once. */
function checkPairs(messages: readonly Fields[]): void {
  const calls = new Set<string>();
  for (const [index, message] of messages.entries()) {
    for (const id of idsOf(message, 'tool_use', 'id')) {
      if (calls.has(id)) throw new Rejection(`messages.${index}.content: \`tool_use\` ids must be unique`);
      calls.add(id);
    }
    const asked = openCalls(messages, index);
    checkResults(message, index, asked);
    const next = message.role === 'assistant' ? messages[index + 1] : undefined;
    const missing = next?.role === 'user' ? unanswered(openCalls(messages, index + 1), next) : [];
    const isLast = index === messages.length - 1;
    const left = isLast && message.role === 'assistant' ? idsOf(message, 'tool_use', 'id') : missing;
    if (left.length > 0)
      throw new Rejection(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${left.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
  }
}

/** The calls of the reply right before a message. Replies in a row are one. */
function openCalls(messages: readonly Fields[], index: number): string[] {
  const ids: string[] = [];
  for (let at = index - 1; at >= 0 && messages[at]?.role === 'assistant'; at--)
    ids.unshift(...idsOf(messages[at] as Fields, 'tool_use', 'id'));
  return ids;
}

function unanswered(asked: readonly string[], { content }: Fields): string[] {
  const blocks = fieldsOf(content);
  const end = blocks.findIndex(({ type }) => type !== 'tool_result');
  const first = blocks.slice(0, end < 0 ? blocks.length : end);
  return asked.filter((id) => !first.some((block) => block.tool_use_id === id));
}

function checkResults(message: Fields, index: number, asked: readonly string[]): void {
  const answered = new Set<string>();
  for (const [i, block] of fieldsOf(message.content).entries()) {
    if (block.type !== 'tool_result') continue;
    const id = asText(block.tool_use_id);
    const place = `messages.${index}.content.${i}`;
    if (answered.has(id))
      throw new Rejection(
        `${place}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
      );
    if (!asked.includes(id))
      throw new Rejection(
        `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      );
    answered.add(id);
  }
}
