import { isRecord } from '../../formats/lens.ts';
import { bindsThinking, OPT_IN } from '../../laws/bound-reasoning.ts';
import { JsonScan } from '../bytes/json-scan.ts';
import type { ByteEdit } from '../bytes/splice.ts';
import type { Outgoing } from '../decide/decision.ts';
import type { ReadRequest } from '../decide/read-request.ts';

/** The edits and headers with which a request opts into dropping thinking that is bound to another prefix. */
export interface OptIn extends Pick<Outgoing, 'headers'> {
  readonly edits: readonly ByteEdit[];
}

const BINDING = 'block_binding';
const BEHAVIOUR = 'prefix_mismatch_behavior';
const { value: DROP, headerValue: BETA } = OPT_IN;

/** How an API treats thinking that is signed over everything before it. */
export interface BoundThinking {
  /** Whether this model binds its thinking. */
  isBound(model: string | undefined): boolean;
  /** Whether a refusal says that thinking is bound. */
  isRefusal(text: string): boolean;
  /** Undefined if the request cannot opt in: it does not ask for thinking, or the client has chosen otherwise. */
  optIn(request: ReadRequest): OptIn | undefined;
}

/** The rules of Anthropic. */
export const boundThinking: BoundThinking = {
  isBound: bindsThinking,
  isRefusal: (text) => /bound to a different conversation/i.test(text),
  optIn,
};

function optIn(request: ReadRequest): OptIn | undefined {
  const field = request.fields.get('thinking');
  if (!field || !isRecord(field.value) || !TYPES.has(String(field.value.type))) return undefined;
  const binding = field.value[BINDING];
  if (isRecord(binding) && binding[BEHAVIOUR] !== undefined) return binding[BEHAVIOUR] === DROP ? CHOSEN : undefined;
  if (binding !== undefined && !isRecord(binding)) return undefined;
  const scan = new JsonScan();
  scan.scan(request.body, field.start);
  const inner = binding && [...scan.members(0)].findLast(({ name }) => name === BINDING);
  const behaviour = `"${BEHAVIOUR}":"${DROP}"`;
  const edit = inner ? insert(scan, inner.value, behaviour) : insert(scan, 0, `"${BINDING}":{${behaviour}}`);
  return { edits: [edit], headers: { 'anthropic-beta': withBeta(request.headers['anthropic-beta']) } };
}

/** The types of thinking that take the field; `disabled` and `between_tools` do not. */
const TYPES = new Set(['enabled', 'adaptive']);
const CHOSEN: OptIn = { edits: [], headers: {} };

/** Inserts a member at the end of an object. */
function insert(scan: JsonScan, object: number, member: string): ByteEdit {
  const at = scan.end(object) - 1;
  const isEmpty = [...scan.members(object)].length === 0;
  return { start: at, end: at, bytes: Buffer.from(isEmpty ? member : `,${member}`) };
}

function withBeta(header: string | undefined): string {
  const betas = (header ?? '').split(',').map((beta) => beta.trim());
  if (betas.includes(BETA)) return header ?? BETA;
  return header?.trim() ? `${header},${BETA}` : BETA;
}
