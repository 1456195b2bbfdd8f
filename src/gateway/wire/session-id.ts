import { requestLimits } from '../../limits.ts';
import type { Wire } from './wire.ts';

/**
 * The headers in which agents send the id of their session. The first one present counts. A sub-agent of OpenCode has its own session
 * and names that of the agent that started it.
 */
const HEADERS = [
  'x-claude-code-session-id',
  // OpenCode.
  'x-parent-session-id',
  'x-session-id',
  // Codex; earlier versions sent `session_id` and `conversation_id`. pi sends `session_id` with OpenAI's Responses.
  'session-id',
  'session_id',
  'conversation_id',
];

/** The id of the agent's session, from a header or the body of the request. */
export function sessionIdOf(
  wire: Wire,
  headers: Readonly<Record<string, string | undefined>>,
  field: (name: string) => unknown,
): string | undefined {
  for (const name of HEADERS) if (isId(headers[name])) return headers[name];
  const id = wire.sessionIn?.(field);
  return isId(id) ? id : undefined;
}

const isId = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= requestLimits.sessionIdChars;
