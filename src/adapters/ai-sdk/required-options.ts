import { type Fields, isRecord } from '../../formats/lens.ts';

/**
 * Whether the provider options can carry the fields of `report.requires`. `@ai-sdk/anthropic` takes `blockBinding` with
 * adaptive thinking or without a type, and leaves it out with every other type.
 */
export function canRequire(given: unknown): boolean {
  const anthropic = isRecord(given) && isRecord(given.anthropic) ? given.anthropic : {};
  const type = isRecord(anthropic.thinking) ? anthropic.thinking.type : undefined;
  return type === undefined || type === 'adaptive';
}

/** The provider options with the fields of `report.requires`. Other providers do not read those of `anthropic`. */
export function withRequired(given: unknown): Fields {
  const options = isRecord(given) ? given : {};
  const anthropic = isRecord(options.anthropic) ? options.anthropic : {};
  const thinking = isRecord(anthropic.thinking) ? anthropic.thinking : {};
  const binding = { blockBinding: { prefixMismatchBehavior: 'drop_block' } };
  return { ...options, anthropic: { ...anthropic, thinking: { ...binding, ...thinking } } };
}
