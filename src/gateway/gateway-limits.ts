import { answerLimits, memoryLimits, requestLimits } from '../limits.ts';

/** Limits of a gateway that an operator can set. `src/limits.ts` has the defaults and all other limits. */
export interface GatewayLimits {
  /** A larger body streams through unread. */
  readonly bodyBytes: number;
  /** A request with more JSON values passes through unread. */
  readonly jsonValues: number;
  /** A request that takes longer to read passes through unread. */
  readonly scanMs: number;
  /** Usage is searched only in this many decompressed bytes of an answer. */
  readonly answerBytes: number;
  /** Without your own store: beyond this many bytes for each tenant, the texts of the least recently used conversations are deleted. */
  readonly memoryStoreBytes: number;
}

export const defaultLimits: GatewayLimits = {
  bodyBytes: requestLimits.bodyBytes,
  jsonValues: requestLimits.jsonValues,
  scanMs: requestLimits.scanMs,
  answerBytes: answerLimits.bytes,
  memoryStoreBytes: memoryLimits.storeBytes,
};
