import { answerLimits, memoryLimits, requestLimits } from '../limits.ts';

/** Limits of a gateway that an operator can set. `src/limits.ts` has the defaults and all other limits. */
export interface GatewayLimits {
  /** A larger body streams through unread. */
  readonly bodyBytes: number;
  /** A request with more JSON values passes through unread. */
  readonly jsonValues: number;
  /** A request that takes longer to read passes through unread. */
  readonly scanMs: number;
  /** Usage is not looked for behind so many bytes of an answer, decompressed. */
  readonly answerBytes: number;
  /** Without a store of yours: the texts of conversations unused for longest are deleted beyond so many bytes, for each tenant. */
  readonly memoryStoreBytes: number;
}

export const defaultLimits: GatewayLimits = {
  bodyBytes: requestLimits.bodyBytes,
  jsonValues: requestLimits.jsonValues,
  scanMs: requestLimits.scanMs,
  answerBytes: answerLimits.bytes,
  memoryStoreBytes: memoryLimits.storeBytes,
};
