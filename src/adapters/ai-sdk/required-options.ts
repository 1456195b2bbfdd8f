import { type Fields, isRecord } from '../../formats/lens.ts';

/** The provider options with those that `report.requires` asks for. Other providers do not read those of `anthropic`. */
export function withRequired(given: unknown): Fields {
  const options = isRecord(given) ? given : {};
  const anthropic = isRecord(options.anthropic) ? options.anthropic : {};
  const thinking = isRecord(anthropic.thinking) ? anthropic.thinking : {};
  const binding = { blockBinding: { prefixMismatchBehavior: 'drop_block' } };
  return { ...options, anthropic: { ...anthropic, thinking: { ...binding, ...thinking } } };
}
