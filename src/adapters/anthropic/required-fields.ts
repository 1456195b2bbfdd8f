import { type Fields, isRecord } from '../../formats/lens.ts';
import { OPT_IN } from '../../laws/bound-reasoning.ts';
import type { Requirement } from '../../plan/report.ts';

/** The types of thinking that take `block_binding`. */
const TYPES: readonly unknown[] = ['enabled', 'adaptive'];

/** Whether the request can opt into dropping thinking: it asks for thinking, and has not chosen otherwise. */
export function canRequire({ thinking }: Fields): boolean {
  if (!isRecord(thinking) || !TYPES.includes(thinking.type)) return false;
  const { block_binding: binding = {} } = thinking;
  return isRecord(binding) && (binding.prefix_mismatch_behavior ?? OPT_IN.value) === OPT_IN.value;
}

/** The body with the fields of `report.requires`. */
export function withRequiredFields(body: Fields, [required]: readonly Requirement[]): Fields {
  if (!required || !isRecord(body.thinking)) return body;
  const { thinking } = body;
  const own = isRecord(thinking.block_binding) ? thinking.block_binding : {};
  const binding = { ...own, prefix_mismatch_behavior: required.value };
  return { ...body, thinking: { ...thinking, block_binding: binding } };
}

/** Adds the betas of `report.requires` to those of the caller. */
export function addRequiredHeaders(headers: Headers, requires: readonly Requirement[]): void {
  for (const { header, headerValue } of requires) {
    const given = headers.get(header)?.split(',') ?? [];
    if (!given.some((beta) => beta.trim() === headerValue)) headers.append(header, headerValue);
  }
}
