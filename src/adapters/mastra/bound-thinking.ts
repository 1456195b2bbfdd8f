import { asList, isRecord } from '../../formats/lens.ts';
import { bindsThinking } from '../../laws/bound-reasoning.ts';
import { canRequire } from '../ai-sdk/required-options.ts';
import type { MastraInputStep } from './processor.ts';

/**
 * Whether a request opts into dropping thinking blocks. Provider options are final before the prompt is fitted, so every
 * request with thinking does. `@ai-sdk/anthropic` 3 and 4 take the option. The version inside Mastra, which is used for
 * models that are given by name, does not.
 */
export function dropsThinking({ messages, model, providerOptions }: MastraInputStep<unknown>): boolean {
  const { modelId, specificationVersion, gatewayId } = model;
  const takesOption = gatewayId === undefined && specificationVersion !== 'v2' && canRequire(providerOptions);
  return takesOption && bindsThinking(modelId) && messages.some(hasThinking);
}

function hasThinking(message: unknown): boolean {
  const content = isRecord(message) && isRecord(message.content) ? message.content : {};
  return asList(content.parts).some(({ type }) => type === 'reasoning');
}
