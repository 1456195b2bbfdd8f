/**
 * All limits on input that is kept or processed. Each comment says what happens beyond the limit, and `docs/limits.md` is made from
 * them. Limits that an operator can set are defaults: `gateway.limits` in `palimpsest.yaml`.
 */

/** A request to the gateway. */
export const requestLimits = {
  /** A larger body streams through unread. Set with `gateway.limits.body_bytes`. */
  bodyBytes: 64 * 1024 * 1024,
  /** A compressed body that grows to more than this many times its size passes through unread. */
  bodyRatio: 100,
  /** A body or answer in zstd that asks for a larger window is not decompressed. It is the largest that RFC 9659 allows. */
  zstdWindowBytes: 8 * 1024 * 1024,
  /** A request with more JSON values passes through unread. Set with `gateway.limits.json_values`. */
  jsonValues: 100_000,
  /** A request that takes longer to read passes through unread. Set with `gateway.limits.scan_ms`. */
  scanMs: 2000,
  /** A request with deeper nested JSON passes through unread. */
  jsonDepth: 256,
  /** A request with a longer model name passes through unread. */
  modelChars: 256,
  /** A longer id of a session is not used: the session is then identified by its first messages. */
  sessionIdChars: 512,
  /** A longer path is cut in receipts. */
  pathChars: 512,
  /** A connection to an upstream that takes longer to open fails. */
  connectMs: 30_000,
  /** A connection that an upstream closes later after a request, without a byte of an answer, is an error: 502. Earlier, the request is sent again on another connection if this one was used before. */
  staleMs: 1000,
  /** A client's connection that is idle for longer is closed. Balancers close theirs earlier, so none sends into a closed one. */
  idleMs: 75_000,
  /** A request that takes longer to arrive is refused with 408. Files of some hundred megabytes take a while. */
  uploadMs: 3_600_000,
  /** A request that has passed this many gateways is refused with 508. */
  hops: 8,
  /** A longer host or origin is cut in the error that refuses it. */
  refusedNameChars: 200,
  /** If the store takes longer to answer, nothing new is masked in this request. */
  storeWaitMs: 250,
  /** A request with tool results waits this long for the store if masks of its conversation may be unknown here: this process has not loaded the conversation, or other gateways use the store too. If the store takes longer, nothing is masked in this request, and no other request waits this long until the store has answered. */
  storeLoadMs: 5000,
  /** If the store has not answered a query for this long, the next request asks again. */
  storeGiveUpMs: 60_000,
} as const;

/** The answer of an upstream: its bytes always reach the client unchanged. */
export const answerLimits = {
  /** Usage is searched only in this many decompressed bytes. Set with `gateway.limits.answer_bytes`. */
  bytes: 64 * 1024 * 1024,
  /** A longer event, or a longer answer that is one document, is not searched for usage. */
  eventBytes: 16 * 1024 * 1024,
  /** An event or document with more JSON values is not searched for usage. */
  jsonValues: 100_000,
  /** An answer that takes longer to read is no longer read for usage. */
  readMs: 1000,
  /** An answer that decompresses to more than this many times its size, and to more than `bombBytes`, is no longer read for usage. */
  ratio: 100,
  /** An answer that decompresses to less is not a bomb, whatever its ratio. */
  bombBytes: 1024 * 1024,
  /** If usage has a larger number, it is ignored: the tokens are estimated. */
  tokens: 1_000_000_000,
  /** A longer reason phrase is cut. */
  reasonChars: 1000,
  /** A `100 Continue` that is longer makes the answer a broken one: 502. */
  continueBytes: 16 * 1024,
  /** The rest of a longer refusal of an edited request is dropped. */
  refusalBytes: 256 * 1024,
  /** The rest of a refusal of an edited request that takes longer after its head is dropped. */
  refusalMs: 2000,
  /** A compressed refusal that is longer is not read. */
  decodedRefusalBytes: 1024 * 1024,
  /** Of a longer refusal, only the beginning is searched for credentials and kept. */
  redactedChars: 16 * 1024,
  /** If a request has more values that may be credentials, the text of its refusal is not kept. */
  secretsPerRequest: 200,
  /** The text of a longer refusal is cut in its receipt. */
  refusalChars: 500,
} as const;

/** Records of the gateway, in memory. */
export const recordLimits = {
  /** The receipts of the least recently used conversation are forgotten, then the conversation; totals stay. */
  conversations: 1000,
  /** The oldest receipt of the conversation is forgotten; totals stay. */
  receiptsPerConversation: 500,
  /** The receipts of the least recently used conversations are forgotten; totals stay. */
  receipts: 10_000,
  /** Further masks of a conversation are not listed. */
  masksPerConversation: 2000,
  /** A longer tool name is cut in the store and in the list of masks. */
  toolChars: 128,
  /** For each tenant: if more records of requests wait to be written to the store, further ones are dropped. The log reports it, and `/metrics` counts them. */
  unwritten: 10_000,
  /** Records that the store has not taken by then are lost when a gateway stops. */
  closeMs: 5000,
  /** The connection of a page that reads its events more slowly is closed. */
  unreadEventBytes: 4 * 1024 * 1024,
  /** Further reports of the last half minute are not cached. */
  reports: 20,
} as const;

/** Requests that the gateway keeps in memory, for each tenant and provider. */
export const memoryLimits = {
  /** The least recently used requests are forgotten; they are read again when they come back. */
  requestBytes: 256 * 1024 * 1024,
  /** For each tenant without a store: the texts of the least recently used conversations are deleted, and stored again with their next request. A conversation that exceeds it alone gets no new masks. Set with `limits.memoryStoreBytes` of `createGateway`. */
  storeBytes: 256 * 1024 * 1024,
  /** The least recently used conversations are forgotten. */
  conversations: 10_000,
  /** The oldest branch of a conversation is forgotten. */
  branchesPerConversation: 16,
  /** The oldest use of the provider's cache is forgotten: that history then counts as neither warm nor cold. */
  cacheUsesPerConversation: 256,
  /** No new event of a conversation is recorded, so nothing is masked that would need one; masks that were sent stay. */
  eventsPerConversation: 10_000,
  /** The handles that a conversation is known to have stored are forgotten, and stored again with its next request. */
  storedPerConversation: 10_000,
  /** The least recently used sessions and credentials of a conversation are forgotten; their texts are stored again with the next request. */
  ownersPerConversation: 16,
  /** The least recently used system prompts and tool lists are forgotten. */
  prompts: 64,
  /** All ratios of real to estimated tokens are forgotten and learnt again. */
  models: 1000,
} as const;

/** Links from a conversation to the session that it continues. */
export const linkLimits = {
  /** A conversation that no gateway has seen is compared with earlier ones by the tool calls and results in this many of its last messages. */
  messages: 16,
  /** Results of later requests are not recorded as links: a compaction after them begins a new session. */
  linksPerConversation: 10_000,
} as const;

/** Results that are made smaller when they are first sent. */
export const arrivalLimits = {
  /** A longer result is sent unchanged, and is not searched for lines that others repeat. */
  resultChars: 1024 * 1024,
  /** If the model can see more text, the oldest text is not searched. */
  visibleChars: 8 * 1024 * 1024,
} as const;

/** The MCP server and the search of the dashboard. */
export const recallLimits = {
  /** A longer answer is cut and says how to get the rest. */
  answerChars: 20_000,
  /** A longer text comes as an outline, unless a part or all of it is asked for. */
  wholeTokens: 400,
  /** More lines of an outline are left out. */
  outlineLines: 30,
  /** The outline of a longer text is a few lines at even distances. */
  outlineChars: 2 * 1024 * 1024,
  /** More characters of lines that match `grep` are left out, and the answer says how to get them. */
  matchChars: 4000,
  /** More base64 in the images of an answer is left out, and the answer says so. */
  imageChars: 20_000_000,
  /** A request with a larger body is refused with 413. */
  bodyBytes: 1024 * 1024,
  /** A batch with more messages is refused with 400. */
  batchMessages: 32,
  /** A longer query or pattern is refused. */
  queryChars: 10_000,
  /** A larger line or turn number, and more lines, characters or matches to show or to skip, are refused. */
  position: 1_000_000_000,
  /** MCP calls that recall, without `grep`, at the same time in one process. Others wait. */
  recalls: 2,
  /** Further calls that recall are refused with BUSY. */
  waiting: 1000,
  /** More matches are refused; get the rest with `skip`. */
  matches: 1000,
  /** More lines of context around a match are refused. */
  contextLines: 100,
  /** The dashboard's search shows no more matches. */
  dashboardMatches: 200,
  /** The dashboard's search cuts longer lines. */
  dashboardLineChars: 1000,
} as const;

/** Searches, lists and reports over stored texts, in each process of a gateway. */
export const searchLimits = {
  /** Patterns that run at the same time, each in a child process. Others wait. A gateway with workers has this limit in the main process and in each worker. Set with `gateway.limits.search_processes`. */
  processes: 2,
  /** MCP calls that search, list, report, or recall with `grep`, at the same time; as many as `processes` if that is set higher. Others wait. */
  walks: 2,
  /** Further patterns, and further calls of that kind, are refused with BUSY. */
  waiting: 64,
  /** A process that has not begun its search by then is killed, and the search fails. */
  startMs: 10_000,
  /** A pattern that takes longer over one batch of texts is stopped: the matches so far are the answer. */
  batchMs: 1000,
  /** A search for a pattern or a plain text that takes longer is stopped: the matches so far are the answer. Reading the store counts, waiting to start does not. */
  totalMs: 10_000,
} as const;

/** A store. */
export const storeLimits = {
  /** A longer session id or tenant name is refused. */
  nameChars: 128,
  /** A longer note is refused. */
  noteBytes: 64 * 1024,
  /** A store in memory forgets the oldest records of requests. */
  memoryRecords: 20_000,
  /** A longer batch is refused by PostgreSQL. Part of its format: the order of texts depends on it. */
  batchTexts: 2 ** 20,
  /** A reference is compared with the newest ones to its text. One that is the same as an older one is stored again. */
  comparedReferences: 256,
  /** The embedded store forgets where sessions end and were deleted, and reads it again. */
  openSessions: 4096,
  /** PostgreSQL forgets which sessions it has touched within the hour, and touches them again. */
  touchedSessions: 10_000,
  /** `fitAndStore` forgets which texts it has stored, and stores them again. */
  fittedSessions: 1000,
  /** The lock of a process on another machine or in another container is taken over if it was not renewed for longer. */
  lockSilentMs: 30_000,
  /** A summary that takes longer fails. Set with `summarizeTimeoutMs`. */
  summaryMs: 60_000,
  /** After this many failures in a row, `summarize` is switched off. */
  summaryFailures: 3,
  /** A longer request of another process is refused. */
  requestBytes: 64 * 1024,
  /** If the writing process has not taken a request by then, it is withdrawn and nothing is done. */
  requestWaitMs: 15_000,
  /** A request is refused and not carried out if the process that asked has not renewed it for longer. */
  requestSilentMs: 10_000,
  /** The process that asked gives up if the lock of the writing process was not renewed for longer. */
  writerSilentMs: 60_000,
  /** An older leftover request or answer is removed. */
  answerMs: 600_000,
} as const;

/** A session's log. */
export const sessionLimits = {
  /** A longer event is refused. */
  eventChars: 2 ** 28,
  /** In a database, a longer event is refused. */
  databaseEventChars: 2 ** 25,
  /** A value that is nested deeper is refused. */
  depth: 200,
  /** A line with a larger number is damaged. */
  events: 2 ** 50,
  /** Of a longer gap in a damaged log, further events are not listed as missing. */
  missing: 1000,
  /** In a damaged line, no more places are tried at which another line could begin. */
  salvageTries: 100,
  /** If the store takes longer to keep the originals of new results, these are sent whole. */
  storeWaitMs: 2000,
} as const;

/** Adapters of frameworks, for each adapter in use. */
export const adapterLimits = {
  /** The least recently used conversation is planned from its beginning when it continues. */
  conversations: 8,
} as const;
