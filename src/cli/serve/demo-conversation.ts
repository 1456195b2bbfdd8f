/** One step of the bundled conversation: the model's words, its call, and the tool's result. */
export interface DemoStep {
  readonly say: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, string>>;
  readonly result: string;
  readonly isError?: boolean;
}

export interface DemoConversation {
  readonly model: string;
  readonly task: string;
  readonly steps: readonly DemoStep[];
}

/** Two agents at work: a long repair, and a short look around. The same on every run. */
export const createDemoConversations = (): readonly DemoConversation[] => [
  {
    model: 'claude-sonnet-5',
    task: 'The nightly import loses orders when it is restarted. Find out why, fix it, and add a test that fails without the fix.',
    steps: repair('import', 90),
  },
  {
    model: 'claude-haiku-4-5',
    task: 'Explain how the billing module rounds amounts, with the lines that do it.',
    steps: repair('billing', 14),
  },
];

const FILES = ['queue', 'journal', 'reader', 'writer', 'cursor', 'retry', 'clock', 'batch', 'schema', 'report'];

/** Reads, searches, edits and test runs, as coding agents do them. */
function repair(module: string, steps: number): DemoStep[] {
  const random = createRandom(module.length * 7919);
  return Array.from({ length: steps }, (_, i) => {
    const file = `src/${module}/${FILES[random(FILES.length)]}.ts`;
    const kind = i % 7;
    if (kind === 3) return search(file, random);
    if (kind === 4) return edit(file, i);
    if (kind === 5) return test(module, i, random);
    return read(file, i, random);
  });
}

type Random = (below: number) => number;

function read(file: string, i: number, random: Random): DemoStep {
  const lines = Array.from({ length: 60 + random(180) }, (_, line) => `${line + 1}\t${codeLine(random)}`);
  const say = i % 2 === 0 ? `I will look at ${file}.` : `The caller is in ${file}.`;
  return { say, tool: 'read_file', input: { path: file }, result: lines.join('\n') };
}

function search(file: string, random: Random): DemoStep {
  const word = WORDS[random(WORDS.length)] as string;
  const lines = Array.from({ length: 20 + random(60) }, () => `${file}:${1 + random(300)}: ${codeLine(random).trim()}`);
  return { say: `Where else is ${word} used?`, tool: 'grep', input: { pattern: word }, result: lines.join('\n') };
}

function edit(file: string, i: number): DemoStep {
  const input = { path: file, old: `cursor = ${i};`, new: `cursor = await journal.position(${i});` };
  return {
    say: 'The position is kept before the write is durable. I change the order.',
    tool: 'edit_file',
    input,
    result: `${file} was edited: 1 replacement`,
  };
}

function test(module: string, i: number, random: Random): DemoStep {
  const isError = i < 60;
  const failed = isError ? 1 + random(4) : 0;
  const lines = Array.from(
    { length: 80 },
    (_, n) => ` ${n < failed ? '✗' : '✓'} ${module} ${sentence(random)} (${random(40)} ms)`,
  );
  const result = [`> vitest run src/${module}`, '', ...lines, '', `Tests ${failed} failed, ${80 - failed} passed`];
  return {
    say: 'I run the tests.',
    tool: 'bash',
    input: { command: `npx vitest run src/${module}` },
    result: result.join('\n'),
    isError,
  };
}

const WORDS = [
  'cursor',
  'journal',
  'order',
  'batch',
  'position',
  'retry',
  'commit',
  'offset',
  'amount',
  'entry',
  'limit',
  'clock',
];

function codeLine(random: Random): string {
  const [a, b, c] = [0, 0, 0].map(() => WORDS[random(WORDS.length)]);
  const lines = [
    `  const ${a} = await ${b}.${c}(${random(100)});`,
    `  if (${a}.${b} > ${random(1000)}) return ${c};`,
    `export function ${a}${random(90)}(${b}: number, ${c}: string): void {`,
    `  // The ${a} of a ${b} is never before its ${c}.`,
    '}',
    '',
  ];
  return lines[random(lines.length)] as string;
}

const sentence = (random: Random): string =>
  `keeps the ${WORDS[random(WORDS.length)]} of a ${WORDS[random(WORDS.length)]} after a restart`;

/** Whole numbers from 0, the same in every run. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}
