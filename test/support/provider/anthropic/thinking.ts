import { createHmac, hash } from 'node:crypto';
import { asText, type Fields, fieldsOf } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { BINDING_BETA, mismatchBehavior } from './check-request.ts';
import { isBound } from './models.ts';
import { blocksOf, toBlock } from './prompt-blocks.ts';

/** What the API did to a thinking block that does not fit, as it reports it. */
export interface Transformation {
  readonly type: 'thinking_dropped';
  readonly path: string;
  readonly reason: 'prefix_binding_mismatch' | 'model_binding_mismatch';
}

/** What a signature vouches for. */
interface Bond {
  readonly model: string;
  readonly text: string;
  readonly system: string;
  readonly tools: string;
  /** Everything said before it, but for thinking and cache markers. */
  readonly messages: string;
  /** The thinking block before it, across turns. */
  readonly previous: string;
}

const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);

/** Signs a thought that answers this request. */
export function signThought(thinking: string, body: Fields, secret: string): string {
  const walk = new PrefixWalk(body);
  for (const { blocks, role } of walk.messages) for (const block of blocks) walk.pass(role, block);
  const bond: Bond = { ...walk.bond(), model: asText(body.model), text: digest(thinking) };
  const payload = Buffer.from(JSON.stringify(bond)).toString('base64');
  return `${payload}.${createHmac('sha256', secret).update(payload).digest('base64')}`;
}

function readBond(signature: string, secret: string): Bond | undefined {
  const [payload = '', seal = ''] = signature.split('.');
  if (createHmac('sha256', secret).update(payload).digest('base64') !== seal) return undefined;
  return JSON.parse(Buffer.from(payload, 'base64').toString());
}

const isThought = ({ type }: Fields): boolean => type === 'thinking' || type === 'redacted_thinking';
const sealOf = ({ signature, data }: Fields): string => asText(signature ?? data);

const invalidText = (path: string, { type }: Fields): string =>
  `${path}: Invalid \`${type === 'thinking' ? 'signature' : 'data'}\` in \`${type}\` block`;

/** Goes through a request in order, so that the prefix of each thinking block is at hand. */
class PrefixWalk {
  readonly messages: readonly { readonly role: string; readonly blocks: readonly Fields[] }[];
  readonly #system: string;
  readonly #tools: string;
  #said = '';
  #previous = '';

  constructor(body: Fields) {
    const system = blocksOf(body.system).map((block) => toBlock('system', block).text);
    const tools = fieldsOf(body.tools).map(({ cache_control: _marker, ...tool }) => tool);
    this.#system = digest(JSON.stringify(system));
    this.#tools = digest(JSON.stringify(tools));
    this.messages = fieldsOf(body.messages).map(({ role, content }) => ({
      role: asText(role),
      blocks: blocksOf(content),
    }));
  }

  bond(): Pick<Bond, 'system' | 'tools' | 'messages' | 'previous'> {
    return { system: this.#system, tools: this.#tools, messages: this.#said, previous: this.#previous };
  }

  pass(role: string, block: Fields): void {
    if (isThought(block)) this.#previous = digest(sealOf(block));
    else this.#said = digest(`${this.#said} ${toBlock(role, block).text}`);
  }
}

interface ThinkingCheck {
  readonly betas: readonly string[];
  readonly secret: string;
}

/** Checks every thinking block that came back. Throws, or says which were dropped. */
export function checkThoughts(body: Fields, check: ThinkingCheck): Transformation[] {
  if (!hasThoughts(body)) return [];
  const walk = new PrefixWalk(body);
  const lastReply = walk.messages.findLastIndex(({ role }) => role === 'assistant');
  const found: Transformation[] = [];
  for (const [i, { role, blocks }] of walk.messages.entries()) {
    let isDropped = false;
    for (const [j, block] of blocks.entries()) {
      const place: BlockPlace = { path: `messages.${i}.content.${j}`, isLatest: i === lastReply, isDropped };
      const change = isThought(block) ? judge(block, { place, walk, body, check }) : undefined;
      if (change) found.push(change);
      // The rest of a turn's thinking goes with what is dropped from it.
      isDropped ||= change !== undefined;
      walk.pass(role, block);
    }
  }
  return found;
}

interface BlockPlace {
  readonly path: string;
  readonly isLatest: boolean;
  /** Whether a block before it in the same message was dropped. */
  readonly isDropped: boolean;
}

interface JudgeContext {
  readonly place: BlockPlace;
  readonly walk: PrefixWalk;
  readonly body: Fields;
  readonly check: ThinkingCheck;
}

function judge(block: Fields, { place, walk, body, check }: JudgeContext): Transformation | undefined {
  const { path } = place;
  const behavior = mismatchBehavior(body);
  const wrong = misfit(knownBond(block, place, check.secret), walk, asText(body.model));
  const reason = wrong?.reason ?? 'prefix_binding_mismatch';
  if (place.isDropped || wrong?.reason === 'model_binding_mismatch') return { type: 'thinking_dropped', path, reason };
  if (!wrong) return undefined;
  if (behavior === 'drop_block') return { type: 'thinking_dropped', path, reason };
  throw new Rejection(mismatchText(invalidText(path, block), wrong.sentence, check.betas));
}

const hasThoughts = ({ messages }: Fields): boolean =>
  fieldsOf(messages).some(({ content }) => fieldsOf(content).some(isThought));

function knownBond(block: Fields, { path, isLatest }: BlockPlace, secret: string): Bond {
  const bond = readBond(sealOf(block), secret);
  if (bond && (block.type !== 'thinking' || bond.text === digest(asText(block.thinking)))) return bond;
  if (bond && isLatest)
    throw new Rejection(
      `${path}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. ` +
        'These blocks must remain as they were in the original response.',
    );
  throw new Rejection(invalidText(path, block));
}

interface Misfit {
  readonly reason: Transformation['reason'];
  readonly sentence: string;
}

function misfit(bond: Bond, walk: PrefixWalk, model: string): Misfit | undefined {
  // An older model cannot read what a newer one thought.
  if (bond.model !== model && isBound(bond.model)) return { reason: 'model_binding_mismatch', sentence: '' };
  if (!isBound(model)) return undefined;
  const sentence = difference(bond, walk);
  return sentence === undefined ? undefined : { reason: 'prefix_binding_mismatch', sentence };
}

/** The sentence that ends the refusal; empty where an earlier message was edited: the API then says no more. */
function difference(bond: Bond, walk: PrefixWalk): string | undefined {
  const now = walk.bond();
  if (now.system !== bond.system) return ' The `system` prompt differs from the one this block was created with.';
  if (now.tools !== bond.tools) return ' The `tools` list differs from the one this block was created with.';
  if (now.messages !== bond.messages) return '';
  // Thinking may be left out from the start of the history on, but not from its middle.
  if (now.previous !== '' && now.previous !== bond.previous)
    return ' The `thinking` block that preceded this one when it was created is missing from this request.';
  return undefined;
}

function mismatchText(invalid: string, sentence: string, betas: readonly string[]): string {
  const needs = betas.includes(BINDING_BETA)
    ? ''
    : ` That setting requires the \`${BINDING_BETA}\` value in the \`anthropic-beta\` header.`;
  return (
    `${invalid}. The block is bound to a different conversation. ` +
    `Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".${needs}${sentence}`
  );
}
