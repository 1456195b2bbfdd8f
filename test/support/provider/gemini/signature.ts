import { createHmac } from 'node:crypto';
import { type Fields, isFields } from '../json.ts';

/** Signs a part of a reply: what it says or calls, not what came before. */
export function signatureOf(part: Fields, secret: string): string {
  const { functionCall: call, text } = part;
  const content = isFields(call) ? [call.name, call.args] : [text];
  return createHmac('sha256', secret).update(JSON.stringify(content)).digest('base64');
}

/** Google's own words for histories that come from elsewhere. */
const DUMMIES = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'].flatMap((text) => [
  text,
  Buffer.from(text).toString('base64'),
]);

export const isSignatureOf = (part: Fields, secret: string): boolean =>
  DUMMIES.includes(String(part.thoughtSignature)) || part.thoughtSignature === signatureOf(part, secret);
