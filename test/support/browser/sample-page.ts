import type {
  MaskedResult,
  PolicyResult,
  PolicyTotal,
  ReplayPage,
  RunResult,
  Schedule,
} from '../../../src/lab/replay-result.ts';

/** Read and write, as multiples of the base price. */
const PRICES = { 'anthropic-5m': [0.1, 1.25], 'gpt-4.1': [0.25, 1], none: [1, 1] } as const;
type Price = keyof typeof PRICES;
const PRICE_NAMES = Object.keys(PRICES) as Price[];

/** How many of the last results stay whole at a request. */
const WINDOWS: Readonly<Record<string, (request: number, price: Price) => number>> = {
  none: (request) => request,
  'sliding-window': () => 10,
  'polling:turns=10,every=5': (request) => 10 + (request % 5),
  'break-even': (request, price) => 10 + (request % (price === 'anthropic-5m' ? 17 : 8)),
  optimum: (request) => 10 + (request % 20),
};
const POLICIES = Object.keys(WINDOWS);

/** Ends the script, opens an element, breaks lines where only JavaScript does. */
export const HOSTILE = '</script><img src=x onerror="document.title=\'taken over\'"><!-- \u2028\u2029 $& $1';

/** A page like that of a real replay, made from nothing: the same for the same number of runs. */
export function samplePage({ runs: count }: { readonly runs: number }): ReplayPage {
  const simulated = Array.from({ length: count }, (_, index) => simulateRun(index));
  const runs = simulated.map(({ run }) => run);
  return {
    result: {
      version: 1,
      prices: PRICE_NAMES,
      policies: POLICIES,
      runs,
      total: Object.fromEntries(POLICIES.map((policy) => [policy, totalOf(runs, policy)])),
      skipped: [{ file: 'logs/broken.jsonl', reason: `Expected JSON but found ${HOSTILE}` }],
    },
    details: simulated.map(({ schedules }, run) => ({ run, schedules })),
  };
}

function simulateRun(index: number): { readonly run: RunResult; readonly schedules: Record<string, Schedule> } {
  const random = randomFrom(index + 1);
  const turns = 14 + Math.floor(random() * random() * 120);
  const results = Array.from({ length: turns }, () => Math.ceil(40 + random() ** 3 * 4000));
  const schedules: Record<string, Schedule> = {};
  const byPolicy: Record<string, PolicyResult> = {};
  for (const policy of POLICIES) {
    const cost: Record<string, number> = {};
    for (const price of PRICE_NAMES) {
      const found = schedule({ results, price, window: WINDOWS[policy] ?? (() => turns) });
      schedules[policy === 'break-even' ? `${policy} @ ${price}` : policy] = found.schedule;
      cost[price] = found.cost;
    }
    const { sizes, epochs, masked } = schedules[policy] ?? (schedules[`${policy} @ anthropic-5m`] as Schedule);
    const any = Math.floor(masked.length * random() * 0.2);
    byPolicy[policy] = {
      tokensSent: sum(sizes),
      peakTokens: Math.max(...sizes),
      masks: masked.length,
      epochs: epochs.length,
      cost,
      misses: { edit: Math.floor(any / 2), identifier: any, any, calls: turns },
    };
  }
  const file =
    index === 2 ? `logs/${HOSTILE}.jsonl` : `logs/claude-code/project-${index % 7}/session-${index * 7919}.jsonl`;
  const tokens = 4000 + sum(results) + turns * 150;
  const run = { file, run: 0, turns, tokens, observationShare: sum(results) / tokens, results: byPolicy };
  return { run: { ...run, format: index % 3 === 0 ? 'codex' : 'claude-code' }, schedules };
}

interface ScheduleOptions {
  readonly results: readonly number[];
  readonly price: Price;
  readonly window: (request: number, price: Price) => number;
}

function schedule({ results, price, window }: ScheduleOptions): { readonly schedule: Schedule; readonly cost: number } {
  const [read, write] = PRICES[price];
  const sizes: number[] = [];
  const epochs: number[] = [];
  const masked: MaskedResult[] = [];
  let cost = 0;
  let frontier = 0;
  for (let request = 0; request < results.length; request++) {
    const next = Math.max(frontier, request - window(request, price));
    const cached = request === 0 ? 0 : sizeOf(next > frontier ? frontier : request - 1, frontier);
    for (let turn = frontier; turn < next; turn++) masked.push(maskedResult(turn, request));
    if (next > frontier) epochs.push(request);
    frontier = next;
    const size = sizeOf(request, frontier);
    sizes.push(size);
    cost += read * cached + write * (size - cached);
  }
  return { schedule: { sizes, epochs, masked }, cost };

  function sizeOf(turns: number, maskedTurns: number): number {
    const size = (turn: number): number => 150 + (turn < maskedTurns ? 15 : (results[turn] ?? 0));
    return 4000 + sum(Array.from({ length: turns }, (_, turn) => size(turn)));
  }

  function maskedResult(turn: number, request: number): MaskedResult {
    const tokens = results[turn] ?? 0;
    const tool = ['bash', 'read_file', 'grep', 'mcp__github__search_repositories'][turn % 4] ?? 'bash';
    const text = turn === 0 ? `${HOSTILE}\nsecond line` : `$ ${tool} ${turn}\n${'a line of the log\n'.repeat(30)}`;
    return {
      request,
      turn: turn + 1,
      tool,
      tokens,
      placeholder: `[${tool}: ${tokens} tokens masked, recall ${turn}f3a9]`,
      text,
    };
  }
}

function totalOf(runs: readonly RunResult[], policy: string): PolicyTotal {
  const costOf = (name: string, price: string): number => sum(runs.map((run) => run.results[name]?.cost[price] ?? 0));
  return {
    tokensSent: sum(runs.map((run) => run.results[policy]?.tokensSent ?? 0)),
    cost: Object.fromEntries(PRICE_NAMES.map((price) => [price, costOf(policy, price)])),
    saving: Object.fromEntries(PRICE_NAMES.map((price) => [price, costOf(policy, price) / costOf('none', price) - 1])),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);

/** The same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed * 2654435761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}
