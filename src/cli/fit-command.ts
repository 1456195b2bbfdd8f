import { knownContextWindow, UNKNOWN_MODEL_WINDOW } from '../budget.ts';
import { PalimpsestError } from '../errors.ts';
import { isRecord } from '../formats/lens.ts';
import { type FitOptions, type FitResult, fit, fitAndStore, parsePolicy } from '../index.ts';
import { defined } from '../options.ts';
import { resolveFormat } from '../plan/resolve-format.ts';
import { handleOf } from '../store/handle.ts';
import { quote } from '../text.ts';
import { type ExactJson, readExactJson, toJson } from './exact-json.ts';
import { whyNotRead } from './file-problem.ts';
import { type Io, readAll, UsageError } from './io.ts';
import { parseOptions, readCount } from './parse-options.ts';
import { readArrival } from './read-arrival.ts';
import { changedResults, showFit, showReport } from './show-fit.ts';
import { createStores, DEFAULT_TENANT } from './store/stores.ts';

export const help = `palimpsest fit: fits a message list, or a whole request, into a budget.

Usage: palimpsest fit [file] [options]

Reads JSON from the file or from standard input and writes the fitted JSON to
standard output. A list of messages becomes a list of messages. A request
({ messages | contents | input, system, tools, model, … }) becomes the request
with that list replaced; its system prompt and tools count towards the budget.

Options:
  --max-tokens <n>     the budget (default: the window of --model, else none)
  --model <name>       the model, for its context window
  --policy <policy>    what to mask: break-even, sliding-window, polling,
                       first-and-last, oldest-batch, protect-tokens, hybrid,
                       clear-tool-uses, graduated, swe-agent, open-hands,
                       gemini-cli, never; with options: polling:turns=5
                       (default: break-even at the model's prices)
  --arrival <list>     how results are made smaller before they are first sent:
                       clean, references, shell-output, truncate=<tokens>,
                       or none (default: the policy's; break-even has clean
                       and references)
  --format <name>      chat, openai-chat, openai-responses, anthropic, gemini,
                       ai-sdk, langchain, openai-agents, ollama,
                       bedrock-converse, pi (default: detected)
  --store <place>      store hidden texts before anything is written: a folder,
                       or a postgres:// address; implies --recall, no turns
  --session <id>       with --store: under which session (default: from the
                       messages before the first reply)
  --recall             placeholders show the handle of the hidden text; without
                       --store nothing is stored
  --bound-thinking <w> opt-in drops signed thinking after a mask; keep masks
                       nothing before signed thinking
  --report             write the changes and their reasons to standard error
  --show               write a readable before/after in place of the JSON
  --json               with --report or --show: as JSON
  -h, --help

Exit codes: 0 done, 1 failed, 2 wrong usage.
Example: palimpsest fit request.json --max-tokens 100000 --report > fitted.json
`;

const OPTIONS = {
  'max-tokens': { type: 'string' },
  model: { type: 'string' },
  policy: { type: 'string' },
  arrival: { type: 'string' },
  format: { type: 'string' },
  store: { type: 'string' },
  session: { type: 'string' },
  recall: { type: 'boolean' },
  'bound-thinking': { type: 'string' },
  report: { type: 'boolean' },
  show: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, OPTIONS);
  if (positionals.length > 1) throw new UsageError('expected one file at most');
  if (values.session !== undefined && values.store === undefined) throw new UsageError('--session needs --store');
  if (values.json && !values.report && !values.show) throw new UsageError('--json needs --report or --show');
  const input = readRequest(await readInput(positionals, io), nameOf(positionals[0]));
  const maxTokens = values['max-tokens'];
  const options: FitOptions = {
    ...input.options,
    ...(maxTokens === undefined ? {} : { maxTokens: readCount('--max-tokens', maxTokens) }),
    ...(values.model === undefined ? {} : { model: values.model }),
    ...(values.policy === undefined ? {} : { policy: parsePolicy(values.policy) }),
    ...(values.arrival === undefined ? {} : { arrival: readArrival(values.arrival) }),
    ...(values.format === undefined ? {} : { format: values.format as NonNullable<FitOptions['format']> }),
    ...(values['bound-thinking'] === undefined ? {} : { boundThinking: values['bound-thinking'] as 'keep' }),
    recall: values.recall ?? values.store !== undefined,
  };
  const fitted =
    values.store === undefined
      ? fit(input.messages, options)
      : await fitInto(values.store, input.messages, { ...options, ...defined({ session: values.session }) });
  warnOfUnknownModel(options, io);
  const report = (): string => toJson({ ...fitted.report, results: changedResults(input.messages, fitted, options) });
  if (values.show) io.stdout(values.json ? report() : showFit(input.messages, fitted, options, io));
  else io.stdout(input.write(fitted.messages));
  if (values.report) io.stderr(values.json ? report() : showReport(fitted.report));
  return 0;
}

/** Without --max-tokens, the user must know where the budget comes from. */
function warnOfUnknownModel({ model, maxTokens }: FitOptions, io: Io): void {
  if (model === undefined || maxTokens !== undefined || knownContextWindow(model) !== undefined) return;
  const assumed = UNKNOWN_MODEL_WINDOW.toLocaleString('en-US');
  io.stderr(
    `palimpsest fit: the context window of ${quote(model, 80)} is not known, so ${assumed} tokens are assumed; --max-tokens sets it\n`,
  );
}

interface StoredFitOptions extends FitOptions {
  readonly session?: string;
}

async function fitInto(
  place: string,
  messages: readonly object[],
  options: StoredFitOptions,
): Promise<FitResult<object>> {
  const stores = await createStores(place);
  try {
    const session = options.session ?? sessionOf(messages, options);
    // Turns would also hold results that are not hidden, and --store promises to keep only hidden texts.
    const kept = { ...options, session, recordTurns: false };
    return await fitAndStore(messages, { ...kept, store: await stores.open(DEFAULT_TENANT) });
  } finally {
    await stores.close();
  }
}

/** The same for every request of a conversation: made from the messages before the first reply. */
function sessionOf(messages: readonly object[], { format, system }: FitOptions): string {
  const begin = resolveFormat(messages, format)
    .view(messages)
    .filter(({ turn }) => turn === 0)
    .map(({ text }) => text);
  return `fit-${handleOf(JSON.stringify([system ?? '', begin])).slice(2, 18)}`;
}

const nameOf = (file: string | undefined): string => (file === undefined || file === '-' ? 'standard input' : file);

async function readInput([file]: readonly string[], io: Io): Promise<string> {
  if (file === undefined || file === '-') {
    if (!io.stdin) throw new UsageError('expected a file, or messages on standard input');
    return readAll(io.stdin);
  }
  try {
    return await io.readFile(file);
  } catch (error) {
    throw new PalimpsestError('BAD_INPUT', `cannot read ${file}: ${whyNotRead(error)}`);
  }
}

interface Request {
  readonly messages: readonly object[];
  readonly options: FitOptions;
  /** The same JSON with other messages. */
  write(messages: readonly object[]): string;
}

const LISTS = ['messages', 'contents', 'input'] as const;

/** Reads a bare list, or a request with the fields that also count towards the budget. */
function readRequest(text: string, where: string): Request {
  const { value: body, write } = parseJson(text, where);
  if (Array.isArray(body)) return { messages: body, options: {}, write };
  const fields = isRecord(body) ? body : {};
  const key = LISTS.find((name) => Array.isArray(fields[name]));
  if (key === undefined) {
    const message = `Expected a list of messages in ${where}, or a request with one, but found neither`;
    throw new PalimpsestError('BAD_INPUT', message);
  }
  const {
    tools,
    model,
    system = fields.instructions ?? fields.systemInstruction ?? fields.system_instruction,
  } = fields;
  const options = { system, tools, ...(typeof model === 'string' ? { model } : {}) };
  const messages = fields[key] as object[];
  // Not a copy of the fields: long numbers are known by the object that holds them.
  return { messages, options, write: (fitted) => write(Object.assign(fields, { [key]: fitted })) };
}

function parseJson(text: string, where: string): ExactJson {
  try {
    return readExactJson(text);
  } catch (error) {
    const found = isJsonLines(text)
      ? 'several JSON values, one on each line; palimpsest replay reads the logs of agents'
      : `none: ${(error as Error).message}`;
    throw new PalimpsestError('BAD_INPUT', `Expected JSON in ${where} but found ${found}`);
  }
}

/** Whether the first two lines are JSON, each by itself. */
function isJsonLines(text: string): boolean {
  try {
    const lines = text.split('\n', 2).map((line) => JSON.parse(line));
    return lines.length === 2;
  } catch {
    return false;
  }
}
