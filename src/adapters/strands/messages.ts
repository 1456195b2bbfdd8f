import type { BedrockConverseMessage } from '../../formats/bedrock-converse.ts';
import { asList, type Fields, isRecord } from '../../formats/lens.ts';

/** A message of Strands: an object of a class that can be written as JSON. */
export interface StrandsMessage {
  /** `user` or `assistant`. */
  readonly role: string;
  /** The message as plain data. */
  toJSON(): object;
}

/** `Message` of Strands. Taken from a message, so that the package is not imported. */
interface MessageClass {
  fromJSON(data: object): StrandsMessage;
}

/**
 * Translates between messages of Strands and of Bedrock's Converse. As JSON they differ only in reasoning and citations. A message
 * that was not edited comes back as the same object.
 */
export class Translator {
  readonly #messages = new WeakMap<BedrockConverseMessage, StrandsMessage>();

  toConverse(message: StrandsMessage): BedrockConverseMessage {
    const data = message.toJSON() as Fields;
    const translated = { ...data, content: asList(data.content).map(toConverseBlock) };
    this.#messages.set(translated, message);
    return translated;
  }

  /** `sample` is any message of Strands. */
  fromConverse(message: BedrockConverseMessage, sample: StrandsMessage): StrandsMessage {
    const known = this.#messages.get(message);
    if (known) return known;
    const { fromJSON } = sample.constructor as unknown as MessageClass;
    const made = fromJSON({ ...message, content: asList(message.content).map(fromConverseBlock) });
    this.#messages.set(message, made);
    return made;
  }
}

function toConverseBlock(block: Fields): Fields {
  const { reasoning, citations } = block;
  if (isRecord(reasoning)) {
    const { redactedContent, ...reasoningText } = reasoning;
    return { reasoningContent: redactedContent === undefined ? { reasoningText } : { redactedContent } };
  }
  return isRecord(citations) ? { citationsContent: citations } : block;
}

function fromConverseBlock(block: Fields): Fields {
  const { reasoningContent: reasoning, citationsContent: citations } = block;
  if (isRecord(reasoning))
    return { reasoning: isRecord(reasoning.reasoningText) ? reasoning.reasoningText : reasoning };
  return isRecord(citations) ? { citations } : block;
}
