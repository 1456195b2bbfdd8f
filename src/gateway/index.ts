export { createGateway, type Gateway } from './create-gateway.ts';
export { createFetchHandler, type FetchHandler } from './fetch-handler.ts';
export type { GatewayOptions } from './gateway-options.ts';
export { createLog, type Log, type LogEntry } from './log.ts';
export type { Mount } from './own-routes.ts';
export type { Act, ConversationSummary, Mask, Receipt, Status, Tokens, Totals } from './receipt.ts';
export type { Records } from './records.ts';
export type { Provider } from './route.ts';
export { type GatewayServer, type ListenOptions, listen } from './server.ts';
