import { priceLists } from '../../../../src/plan/prices.ts';
import { sizeEncrypted, sizeMedia, sizeUnknown } from '../../../../src/tokens/media.ts';
import { asText, type Fields, fieldsOf, isFields } from '../json.ts';
import type { PromptBlock } from '../prompt.ts';

/** The blocks of a request in the order of the prompt: tools, system, messages. Dropped ones are not among them. */
export function promptBlocks(body: Fields, isDropped: (path: string) => boolean): PromptBlock[] {
  const blocks = [
    ...fieldsOf(body.tools).map((tool) => marked({ text: `tool ${JSON.stringify(unmarked(tool))}` }, tool)),
    ...blocksOf(body.system).map((block) => toBlock('system', block)),
    ...fieldsOf(body.messages).flatMap(({ role, content }, i) =>
      blocksOf(content)
        .filter((_block, j) => !isDropped(`messages.${i}.content.${j}`))
        .map((block) => toBlock(asText(role), block)),
    ),
  ];
  const last = blocks.at(-1);
  if (last && isFields(body.cache_control)) blocks[blocks.length - 1] = marked(last, body);
  return blocks;
}

/** A text and a list of one text block are the same to the model. */
export const blocksOf = (content: unknown): readonly Fields[] =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : fieldsOf(content);

/** A block as the model sees it: without markers, whatever the order of its keys. */
export function toBlock(role: string, block: Fields): PromptBlock {
  const { text, mediaTokens } = contentOf(block);
  const head = `${role} ${block.type}`;
  return marked({ text: `${head} ${text}`, ...(mediaTokens > 0 ? { mediaTokens } : {}) }, block);
}

function contentOf(block: Fields): { text: string; mediaTokens: number } {
  if (block.type === 'text') return { text: asText(block.text), mediaTokens: 0 };
  if (block.type === 'thinking') return { text: asText(block.thinking), mediaTokens: 0 };
  if (block.type === 'redacted_thinking')
    return { text: asText(block.data).slice(-16), mediaTokens: sizeEncrypted(block.data).tokens };
  if (block.type === 'tool_use')
    return { text: `${block.id} ${block.name} ${JSON.stringify(block.input)}`, mediaTokens: 0 };
  if (block.type === 'tool_result') return resultContent(block);
  const source = isFields(block.source) ? block.source : {};
  if (block.type === 'image' || block.type === 'document') {
    const type = block.type === 'image' ? 'image' : 'application/pdf';
    const { tokens } = sizeMedia('anthropic', type, source.data ?? source.url);
    return { text: digestOf(source), mediaTokens: tokens };
  }
  return { text: JSON.stringify(unmarked(block)), mediaTokens: sizeUnknown(block).tokens };
}

function resultContent({ tool_use_id: id, is_error: isError, content }: Fields): { text: string; mediaTokens: number } {
  const parts = blocksOf(content).map(contentOf);
  return {
    text: `${id}${isError === true ? ' failed' : ''} ${parts.map(({ text }) => text).join('\n')}`,
    mediaTokens: parts.reduce((sum, part) => sum + part.mediaTokens, 0),
  };
}

/** Base64 is sized by the formula of its kind, so only enough of it to tell two files apart counts as text. */
const digestOf = ({ data, url }: Fields): string => {
  const text = asText(data ?? url);
  return `${text.length} ${text.slice(-16)}`;
};

function unmarked(block: Fields): Fields {
  const { cache_control: _marker, ...rest } = block;
  return rest;
}

/** A marker on a part of a result ends a prefix behind the whole result: the parts are one block here. */
function marked(block: PromptBlock, { cache_control: own, content }: Fields): PromptBlock {
  const marker = isFields(own)
    ? own
    : fieldsOf(content).findLast((part) => isFields(part.cache_control))?.cache_control;
  if (!isFields(marker)) return block;
  return { ...block, markMs: priceLists[marker.ttl === '1h' ? 'anthropic-1h' : 'anthropic-5m'].lifeMs };
}
