import type { ProviderState } from '../exchange.ts';
import { asText, extraField, type Fields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { unseal } from './common.ts';

const FIELDS = names(
  'background client_metadata context_management conversation include input instructions max_output_tokens max_tool_calls metadata model ' +
    'parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention ' +
    'reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools ' +
    'top_logprobs top_p truncation user',
);

export function checkResponses(body: Fields): void {
  const extra = extraField(body, FIELDS);
  if (extra !== undefined)
    throw new Rejection(`Unknown parameter: '${extra}'.`, { param: extra, code: 'unknown_parameter' });
  if (body.input === undefined && body.prompt === undefined)
    throw new Rejection("Missing required parameter: 'input'.", { param: 'input', code: 'missing_required_parameter' });
}

export const typeOf = (item: Fields): string => asText(item.type ?? (item.role === undefined ? '' : 'message'));

/** What the items of a conversation owe each other. */
export function checkItems(items: readonly Fields[], { needs, secret }: ProviderState): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const type = typeOf(item);
    const id = asText(item.id);
    if (id !== '' && seen.has(id)) {
      const text = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`;
      throw new Rejection(text, { param: 'input' });
    }
    if (id !== '') seen.add(id);
    const needed = needs.get(id);
    if (needed !== undefined && !seen.has(needed)) {
      const words = `was provided without its required 'reasoning' item: '${needed}'.`;
      throw new Rejection(`Item '${id}' of type '${type}' ${words}`, { param: 'input' });
    }
    if (type === 'reasoning') checkReasoning(item, items[index + 1], secret);
  }
  checkPairs(items);
}

function checkReasoning(item: Fields, next: Fields | undefined, secret: string): void {
  const follows = next && (/_call$|^reasoning$/.test(typeOf(next)) || next.role === 'assistant');
  if (!follows)
    throw new Rejection(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`, {
      param: 'input',
    });
  if (typeof item.encrypted_content !== 'string') return;
  const content = unseal(item.encrypted_content, secret);
  if (content && (item.id === undefined || content.id === item.id)) return;
  const reason = content
    ? 'Encrypted content item_id did not match the target item id.'
    : 'Encrypted content could not be decrypted or parsed.';
  throw new Rejection(`The encrypted content for item ${item.id} could not be verified. Reason: ${reason}`, {
    code: 'invalid_encrypted_content',
  });
}

const WORDS: Readonly<Record<string, string>> = {
  function_call: 'function call',
  custom_tool_call: 'custom tool call',
  tool_search_call: 'tool search call',
};

function checkPairs(items: readonly Fields[]): void {
  for (const [type, words] of Object.entries(WORDS)) {
    const idsOf = (kind: string): string[] =>
      items.flatMap((item) => (item.type === kind ? [asText(item.call_id)] : []));
    const [calls, outputs] = [
      idsOf(type),
      idsOf(type === 'tool_search_call' ? 'tool_search_output' : `${type}_output`),
    ];
    const orphan = outputs.find((id) => !calls.includes(id));
    if (orphan !== undefined)
      throw new Rejection(`No tool call found for ${words} output with call_id ${orphan}.`, { param: 'input' });
    const open = calls.find((id) => !outputs.includes(id));
    if (open !== undefined) throw new Rejection(`No tool output found for ${words} ${open}.`, { param: 'input' });
  }
}
