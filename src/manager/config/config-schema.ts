import { z } from 'zod';
import { answerLimits, requestLimits, searchLimits } from '../../limits.ts';
import { policies } from '../../plan/policies/index.ts';
import { priceLists } from '../../plan/prices.ts';
import {
  DEFAULT_HARD_THRESHOLD,
  DEFAULT_HISTORY_TOKENS,
  DEFAULT_OUTPUT_TOKENS,
  DEFAULT_SOFT_THRESHOLD,
} from '../budget/effective-limit.ts';
import { SHARE_PATTERN } from './read-share.ts';
import { SIZE_PATTERN } from './read-size.ts';

/** Each message says what was expected; `readConfig` adds what was found. */
const count = z.int('a whole number of 0 or more').min(0, 'a whole number of 0 or more');
const positive = z.int('a whole number of 1 or more').min(1, 'a whole number of 1 or more');
const flag = z.boolean('true or false');
const text = z.string('a text').min(1, 'a text that is not empty');
const SHARE = 'a number above 0 and up to 1, such as 0.7';
const PORT = 'a port of 0 to 65535';
const share = z.number(SHARE).gt(0, SHARE).max(1, SHARE);
const price = z.number('a number of 0 or more').min(0, 'a number of 0 or more');
const GRACE = '0 to 86400000 milliseconds (a day)';
const grace = z.int(GRACE).min(0, GRACE).max(86_400_000, GRACE);
const ORIGIN = 'an origin such as https://app.example';
const HOST = 'a host name such as gateway.example';
const ADDRESS = 'an http or https address';
// Not by the option protocol of z.url, which is missing in the JSON schema.
const address = z.url({ error: ADDRESS, abort: true }).regex(/^https?:\/\//, ADDRESS);

const DATABASE = 'a postgres:// address';
const database = z.string(DATABASE).regex(/^postgres(ql)?:\/\//, DATABASE);

const SIZE = 'a number of bytes, or a size such as 500MB, 10GB or 2TiB';
const size = z.union([z.int(SIZE).min(1, SIZE), z.string(SIZE).regex(SIZE_PATTERN, SIZE)], SIZE);

const HOLDOUT = 'a share such as 10% or 0.1, from 0 to 1';
const holdout = z.union(
  [z.number(HOLDOUT).min(0, HOLDOUT).max(1, HOLDOUT), z.string(HOLDOUT).regex(SHARE_PATTERN, HOLDOUT)],
  HOLDOUT,
);

const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, `one of ${values.map((value) => `'${value}'`).join(', ')}`);

const section = <const T extends z.core.$ZodLooseShape>(shape: T) =>
  z.strictObject(shape, 'a section with fields').optional();

const about = <T extends z.ZodType>(type: T, description: string, byDefault?: unknown) =>
  type.optional().meta({ description, ...(byDefault === undefined ? {} : { default: byDefault }) });

/** The providers of the gateway; a test compares them with its own. */
export const PROVIDERS: readonly string[] = [
  ...['anthropic', 'openai', 'gemini', 'ollama', 'vertex', 'azure', 'chatgpt', 'codeassist', 'openrouter', 'groq'],
  ...['together', 'deepseek', 'mistral', 'xai', 'moonshot', 'vllm', 'lmstudio'],
];
const upstreams = Object.fromEntries(
  PROVIDERS.map((name) => [name, about(address, 'In place of its official address.')]),
);

const priceNames = Object.keys(priceLists) as [string, ...string[]];
const LOOKUP = '{ kind: markers, look_back_blocks } or { kind: prefix, step_tokens }';
const lookup = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('markers'), look_back_blocks: count }),
    z.strictObject({ kind: z.literal('prefix'), step_tokens: positive }),
  ],
  LOOKUP,
);
const ownPrices = z.strictObject({
  read: price.meta({ description: 'A cached token, as a multiple of the base price.' }),
  write: price.meta({ description: 'A token that is not cached.' }),
  name: about(text, 'The name of these prices in receipts.', 'own'),
  life_ms: about(price, 'How long a cached prefix lives after its last use. For ever if not given.'),
  least_tokens: about(count, 'Shorter prompts are not cached.', 0),
  lookup: about(lookup, 'How the cache finds a prefix: at markers, or any prefix in steps of a number of tokens.', {
    kind: 'prefix',
    step_tokens: 1,
  }),
});
const prices = z.union(
  [oneOf(priceNames), ownPrices],
  `one of ${priceNames.map((name) => `'${name}'`).join(', ')}, or { read, write } as multiples of the base price, and where needed name, life_ms, least_tokens and lookup (${LOOKUP})`,
);

const policyNames = Object.keys(policies) as [string, ...string[]];

/** Every field of `palimpsest.yaml`. All are optional. */
export const configSchema = z
  .strictObject(
    {
      model: section({
        provider: about(text, 'The provider of the model: anthropic, openai, gemini, ollama, …'),
        name: about(text, 'The name of the model. It tells the context window and the prices.'),
        base_url: about(address, 'The address of the model, if not that of its provider: http://localhost:11434/v1'),
        max_input_tokens: about(
          positive,
          'The largest request. The window of the model if not given. Of this and context.limit, the smaller counts.',
        ),
        max_output_tokens: about(
          positive,
          'The longest answer. This part of the limit is kept free. Below nine tenths of the limit.',
          DEFAULT_OUTPUT_TOKENS,
        ),
        context_windows: about(
          z.record(z.string(), positive, 'an object of windows in tokens'),
          'The windows of models of your own, by a part of their name. They are looked at first.',
        ),
      }),
      session: section({
        directory: about(text, 'Where sessions are kept, each in a folder of its own.'),
        database: about(database, 'Or the database that several machines share.'),
        on_disconnect: about(
          oneOf(['pause', 'continue']),
          'When the client that asked has disconnected: stop before the next request, or continue to the end.',
          'pause',
        ),
        max_tool_iterations: about(positive, 'A run stops after this many requests.', 25),
        tool_timeout_ms: about(count, 'How long a tool may take. 0 is no limit.', 120_000),
        compaction: about(
          oneOf(['archive', 'discard', 'off']),
          'How events that are no longer needed are removed.',
          'archive',
        ),
        snapshot_every: about(positive, 'A snapshot is written every this many events.', 50),
        ttl_hours: about(count, 'A sweep ends sessions without an event for this many hours. 0 sweeps nothing.', 168),
        context: section({
          max_history_tokens: about(
            count,
            'How much of a request the conversation before the run may take. 0 is no cap.',
            DEFAULT_HISTORY_TOKENS,
          ),
          max_tool_result_tokens: about(
            positive,
            'A result is cut to this size when it arrives. The log has it whole.',
            8000,
          ),
          tool_result_truncation: about(
            oneOf(['head', 'tail', 'both']),
            'Which part of such a result is kept.',
            'head',
          ),
          tool_result_keep_first: about(
            count,
            'An option of the policy first-and-last: how many of the first results stay whole. Setting it without naming a policy chooses first-and-last, where it is 2 if not given.',
          ),
          tool_result_keep_last: about(
            count,
            'An option of the policy first-and-last: how many of the last results stay whole. Setting it without naming a policy chooses first-and-last, where it is 5 if not given. Both 0: none is masked.',
          ),
        }),
      }),
      context: section({
        limit: about(
          positive,
          'The context window in tokens. That of the model if not given. Of this and model.max_input_tokens, the smaller counts.',
        ),
        soft_threshold_pct: about(
          share,
          'From this share of the limit on, results are masked. At most nine tenths of what max_output_tokens leaves for a request.',
          DEFAULT_SOFT_THRESHOLD,
        ),
        hard_threshold_pct: about(
          share,
          'At this share of the limit the model is told to wrap up, then the session restarts.',
          DEFAULT_HARD_THRESHOLD,
        ),
        mask_batch: about(positive, 'The fewest results that are masked at a time.', 3),
        carryover_turns: about(count, 'How many turns a restart takes along, beside the task.', 5),
        carryover_tokens: about(positive, 'How large they may be together.'),
        auto_restart: about(
          flag,
          'Restarts the session when its window is full. If false, the run ends with the status context-full.',
          true,
        ),
        max_restarts: about(count, 'The run ends after this many restarts.', 20),
      }),
      policy: z
        .looseObject(
          {
            name: about(
              oneOf(policyNames),
              'The policy that decides which results are masked, and when.',
              'break-even',
            ),
            prices: about(prices, 'A price list by its name, or { read, write } as multiples of the base price.'),
            window: about(count, 'How many turns stay whole.', 10),
          },
          'a section with fields',
        )
        .optional()
        .meta({ description: 'The policy and its options, which are those of docs/policies.md in snake_case.' }),
      store: section({
        path: about(text, 'The folder of the store. ~/.palimpsest/store if not given.'),
        postgres: about(database, 'Or the database that several machines share.'),
        tenant: about(text, 'The tenant that owns the texts. Tenants never see the texts of each other.', 'default'),
        record_turns: about(
          flag,
          'Sessions store their turns too: recent ones whole, masked ones with a placeholder.',
          true,
        ),
        max_age_days: about(
          positive,
          'The gateway removes sessions that were not used for this many days. Nothing is removed if not given.',
        ),
        max_bytes: about(
          size,
          'The gateway removes the sessions that were not used for longest until a store is this small, such as 10GB. For each tenant. Nothing is removed if not given.',
        ),
      }),
      gateway: section({
        port: about(z.int(PORT).min(0, PORT).max(65_535, PORT), 'Where it listens. 0 picks a free port.', 8787),
        host: about(text, 'The address it listens on.', '127.0.0.1'),
        allowed_hosts: about(
          z.array(z.string(HOST).regex(/^[^/?#\s*]+$/, HOST), 'a list of host names'),
          'Names by which it may be called, beside loopback.',
        ),
        allowed_origins: about(
          z.array(z.string(ORIGIN).regex(/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#\s*]+$/, ORIGIN), 'a list of origins'),
          'Origins of web pages that may use it, beside its own: https://app.example',
        ),
        shutdown_grace_ms: about(
          grace,
          'How long exchanges with upstreams may take once it was told to stop. Event streams and half-sent requests end at once.',
          30_000,
        ),
        shutdown_drain_ms: about(
          grace,
          'How long it goes on once it was told to stop, while /readyz tells balancers so. The grace time begins after it.',
          0,
        ),
        upstreams: section(upstreams),
        tokens: about(
          z.record(z.string(), text, 'an object of tokens by tenant'),
          'The token of each tenant, where it listens for other machines.',
        ),
        max_tokens: about(positive, 'The budget of a request. The window of its model if not given.'),
        prices: about(prices, 'The prices in place of those the request tells.'),
        price_file: about(text, 'A JSON or YAML file with own prices of models in dollars: docs/money.md.'),
        bound_thinking: about(
          oneOf(['opt-in', 'keep']),
          'Signed thinking behind a mask: opt into dropping it, or mask nothing before it.',
          'opt-in',
        ),
        holdout: about(
          holdout,
          'The share of new sessions that is held out, such as 10%: they pass untouched and are only measured, to compare with.',
          0,
        ),
        shadow: about(
          flag,
          'Decides and records, but sends every new session as it came, and stores none of its texts.',
          false,
        ),
        limits: section({
          body_bytes: about(positive, 'A larger body streams through unread.', requestLimits.bodyBytes),
          json_values: about(
            positive,
            'A request with more JSON values passes through unread.',
            requestLimits.jsonValues,
          ),
          scan_ms: about(positive, 'A request that takes longer to read passes through unread.', requestLimits.scanMs),
          answer_bytes: about(
            positive,
            'Usage is looked for in this many bytes of an answer, decompressed.',
            answerLimits.bytes,
          ),
          search_processes: about(
            positive,
            'Searches by pattern that run at the same time; others wait.',
            searchLimits.processes,
          ),
        }),
      }),
    },
    'sections with fields',
  )
  .check(thresholds)
  .meta({ title: 'palimpsest.yaml', description: 'Settings of Palimpsest. Every field is optional.' });

type Thresholds = {
  context?: { soft_threshold_pct?: number | undefined; hard_threshold_pct?: number | undefined } | undefined;
};

function thresholds({ value, issues }: z.core.ParsePayload<Thresholds>): void {
  const { soft_threshold_pct: soft = DEFAULT_SOFT_THRESHOLD, hard_threshold_pct: hard = DEFAULT_HARD_THRESHOLD } =
    value.context ?? {};
  if (soft < hard || issues.length > 0) return;
  const path = [
    'context',
    value.context?.soft_threshold_pct === undefined ? 'hard_threshold_pct' : 'soft_threshold_pct',
  ];
  const message =
    path[1] === 'soft_threshold_pct' ? `below hard_threshold_pct (${hard})` : `above soft_threshold_pct (${soft})`;
  issues.push({ code: 'custom', input: path[1] === 'soft_threshold_pct' ? soft : hard, path, message });
}

/** The content of `palimpsest.yaml`, or the same object in code. */
export type Config = z.input<typeof configSchema>;

/** The schema that editors read: published as `palimpsest.schema.json`. */
export function configJsonSchema(): object {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' });
}
