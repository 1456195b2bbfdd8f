import type { Prices, PromptTokens } from '../plan/prices.ts';

/**
 * The arm of a session in a comparison. `treated` requests are masked, `held-out` ones are forwarded unchanged. For `shadow` ones the
 * gateway decides but sends the original.
 */
export type Arm = 'treated' | 'held-out' | 'shadow';

/** One request in numbers and names, without any text. Reports are made from these records. */
export interface RequestRecord {
  /** The id of the receipt. */
  readonly id: string;
  /** The id that the client gave the request. Absent if it gave none. */
  readonly requestId?: string;
  /** Start, in milliseconds since the epoch. */
  readonly at: number;
  /** The agent's session, with its sub-agents. */
  readonly session: string;
  /** The session that this one continues, as a fork, a resume or after a compaction. The report counts both as one. */
  readonly root?: string;
  /** The conversation, identified by its first message. */
  readonly conversation: string;
  /** The arm of the session in a comparison. */
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Absent if the session is in no comparison. */
  readonly holdoutShare?: number;
  /** The store did not tell the arm of the session: `arm` says only how this request was handled. Absent if the arm is known. */
  readonly isArmUnknown?: boolean;
  /** The API of the request, such as `anthropic` or `openai-chat`. */
  readonly api: string;
  /** The model that was asked for. Absent if the request names none. */
  readonly model?: string;
  /** Price list by name, and its multiples of the base price for input. */
  readonly prices: Pick<Prices, 'name' | 'read' | 'write' | 'writes'>;
  /** 0 if there was no answer. */
  readonly status: number;
  /** The gateway's action, such as `mask` or `wait`. */
  readonly act: string;
  /** Masks in the request, and the number of new ones. */
  readonly masked: number;
  /** Of `masked`: results that this request masks for the first time. */
  readonly newMasks: number;
  /** Results that were made smaller when they were first sent, and the number of new ones. Absent if there are none. */
  readonly shaped?: number;
  /** Of `shaped`: results that are new in this request. */
  readonly newShaped?: number;
  /** Usage as the provider counted it. Absent if it gave none: then the request is counted as estimated. */
  readonly billed?: PromptTokens & { readonly output: number };
  /** The gateway's estimate before the answer, made in the same way in all arms: with the masks it decided, and without any. */
  readonly expected: { readonly sent: PromptTokens; readonly without: PromptTokens };
  /** The receipt's own figure for the request without masks, made from the bill if there is one. */
  readonly without: PromptTokens;
  /** Status of the provider's refusal of the edited request. */
  readonly refused?: number;
  /** Failed results, repeated calls and recalls in this request. */
  readonly signs: HarmSigns;
}

/**
 * Whether a provider refuses the request itself with this status. Every other status has another cause: 401, 408 and 429 too.
 */
export const isRefusal = (status: number): boolean => status === 400 || status === 413 || status === 422;

/** Signs of harm in one request and its answer. */
export interface HarmSigns {
  /** Tool results that are new since the last request of the conversation. */
  readonly results: number;
  /** Of those, results that the agent or the tool marked as failed. */
  readonly failed: number;
  /** Of the calls answered by them, those made before in the conversation with the same tool and arguments. */
  readonly repeated: number;
  /** Of the calls answered by them, calls of the recall tool. */
  readonly recalls: number;
  /** Whether the answer is final: it ended without a tool call. Absent if the answer was not read. */
  readonly isFinal?: boolean;
}
