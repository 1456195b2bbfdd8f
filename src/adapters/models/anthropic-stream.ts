import { PalimpsestError } from '../../errors.ts';
import { asList, type Fields, isRecord, toText } from '../../formats/lens.ts';

/** A message, and the ids of calls whose input was cut off. */
export interface StreamedMessage {
  readonly message: Fields;
  readonly cutCalls: ReadonlySet<string>;
}

/** Assembles a streamed message. It equals the message of an answer that is not streamed. */
export async function readMessageStream(
  events: AsyncIterable<unknown>,
  onText: (delta: string) => void,
): Promise<StreamedMessage> {
  const draft = new Draft(onText);
  for await (const event of events) if (isRecord(event)) draft.add(event);
  return draft.finish();
}

class Draft {
  readonly #onText: (delta: string) => void;
  readonly #blocks: Fields[] = [];
  /** The input of a call comes as pieces of JSON, which can be parsed only together. */
  readonly #inputs = new Map<Fields, string>();
  readonly #cutCalls = new Set<string>();
  #message: Fields = {};
  #isWhole = false;

  constructor(onText: (delta: string) => void) {
    this.#onText = onText;
  }

  add(event: Fields): void {
    const { type, message, content_block, delta, error } = event;
    const block = this.#blocks[Number(event.index)];
    if (type === 'error') throw failed(toText(isRecord(error) ? error.message : error));
    if (type === 'message_start' && isRecord(message)) this.#message = message;
    if (type === 'content_block_start' && isRecord(content_block)) this.#blocks.push({ ...content_block });
    if (type === 'content_block_delta' && block && isRecord(delta)) this.#extend(block, delta);
    if (type === 'content_block_stop' && block) this.#close(block);
    if (type === 'message_delta') this.#message = { ...this.#message, ...lastWords(this.#message, event) };
    if (type === 'message_stop') this.#isWhole = true;
  }

  finish(): StreamedMessage {
    if (!this.#isWhole) throw failed('the stream ended before the answer did');
    return { message: { ...this.#message, content: this.#blocks }, cutCalls: this.#cutCalls };
  }

  #extend(block: Fields, delta: Fields): void {
    const { type } = delta;
    if (type === 'text_delta') {
      block.text = `${toText(block.text)}${toText(delta.text)}`;
      if (delta.text) this.#onText(toText(delta.text));
    }
    if (type === 'thinking_delta') block.thinking = `${toText(block.thinking)}${toText(delta.thinking)}`;
    if (type === 'signature_delta') block.signature = delta.signature;
    if (type === 'citations_delta') block.citations = [...asList(block.citations), delta.citation];
    if (type === 'input_json_delta')
      this.#inputs.set(block, `${this.#inputs.get(block) ?? ''}${toText(delta.partial_json)}`);
  }

  #close(block: Fields): void {
    const json = this.#inputs.get(block) ?? '';
    if (json.trim() === '') return;
    try {
      block.input = JSON.parse(json);
    } catch {
      // Cut by max_tokens. It must be sent back as an object; the result of the call will say that it was cut.
      block.input = {};
      this.#cutCalls.add(toText(block.id));
    }
  }
}

const failed = (said: string): PalimpsestError =>
  new PalimpsestError('MODEL_FAILED', `Expected an answer of the model but found: ${said}`);

function lastWords(message: Fields, { delta, usage }: Fields): Fields {
  const counts = isRecord(usage) ? Object.entries(usage).filter(([, value]) => value !== null) : [];
  return {
    ...(isRecord(delta) ? delta : {}),
    usage: { ...(isRecord(message.usage) ? message.usage : {}), ...Object.fromEntries(counts) },
  };
}
