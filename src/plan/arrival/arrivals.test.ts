import { describe, expect, it } from 'vitest';
import { answer, prose, range, results, toolTurn, user } from '../../../test/support/chat.ts';
import { chat } from '../../formats/index.ts';
import {
  breakEven,
  type ChatMessage,
  createPlanner,
  type FitOptions,
  fit,
  handleOf,
  never,
  oldestBatch,
  type Policy,
  type RequestView,
} from '../../index.ts';
import { arrivalLimits } from '../../limits.ts';
import { allParts } from '../parts/all-parts.ts';
import type { PlaceholderStyle } from '../placeholder.ts';
import { Planner, type PlannerOptions } from '../planner.ts';
import { readToolUse } from '../tool-kind.ts';
import type { ArrivalOptions } from './options.ts';

const file = range(1, 40)
  .map((n) => `${n}\tconst value${n} = compute(${n * 37});`)
  .join('\n');
const turnOf = (n: number): ChatMessage[] =>
  toolTurn({ id: `c${n}`, tool: 'read_file', args: '{"path":"src/a.ts"}', output: `${file}\n41\t// read ${n}` });
const messages: ChatMessage[] = [user('Fix it.'), ...range(1, 5).flatMap(turnOf)];

const OFF = { clean: false, references: false, shellOutput: undefined, truncate: undefined };

function sent(options: Partial<PlannerOptions<ChatMessage>>): string[] {
  const planner = new Planner(chat, { policy: never(), parts: allParts, handleOf, show: 'handle', ...options });
  planner.take(messages);
  return results(planner.messages());
}

const isShaped = (text: string): boolean => text.includes('[shortened from');

describe('arrival periods', () => {
  it('leave results before the first alone, and each later stretch has its own options', () => {
    const arrivalPeriods = [
      { ...OFF, references: true, fromMessage: 5 },
      { ...OFF, fromMessage: 8 },
      { ...OFF, truncate: 100, fromMessage: 10 },
    ];
    const texts = sent({ arrivalPeriods });
    expect(texts.map(isShaped)).toEqual([false, false, true, false, false]);
    expect(texts[2]).toContain('same as lines 1–40 of the last read_file src/a.ts above');
    expect(texts[4]).toContain('[truncated: ');
    expect(texts[3]).toBe(results(messages)[3]);
  });

  it('may be added for messages that are yet to come', () => {
    const arrivalPeriods = [{ ...OFF, references: true, fromMessage: 99 }];
    const planner = new Planner(chat, { policy: never(), parts: allParts, handleOf, show: 'handle', arrivalPeriods });
    planner.take(messages.slice(0, 7));
    arrivalPeriods.splice(0, 1, { ...OFF, references: true, fromMessage: 8 });
    planner.take(messages.slice(7));
    expect(results(planner.messages()).map(isShaped)).toEqual([false, false, false, true, true]);
  });
});

describe('a result that went out as it came', () => {
  it('stays so, and later references are to its own lines', () => {
    const arrivalPeriods = [{ ...OFF, references: true, fromMessage: 0 }];
    const planner = new Planner(chat, { policy: never(), parts: allParts });
    planner.take(messages.slice(0, 5));
    const second = planner.ledger.segments.length - 1;
    const texts = sent({ arrivalPeriods, sentWhole: new Set([second]) });
    expect(texts.map(isShaped)).toEqual([false, false, true, true, true]);
    expect(texts[1]).toBe(results(messages)[1]);
    expect(texts[2]).toContain('of the last read_file src/a.ts above');
  });
});

const lines = (name: string, from = 1, to = 40): string =>
  range(from, to)
    .map((n) => `const ${name}${n} = compute(${n * 7919});`)
    .join('\n');
const A = lines('a');
const B = lines('b');

const REFERENCES: FitOptions = { policy: never({ references: true }), format: 'chat' };
const TASK = user('Fix it.');

const turn = (id: string, tool: string, args: object, output: string): ChatMessage[] =>
  toolTurn({ id, tool, args: JSON.stringify(args), output });
const read = (id: string, path: string, output: string): ChatMessage[] => turn(id, 'read_file', { path }, output);
/** One reply that reads a file several times at once. */
const reads = (path: string, outputs: Record<string, string>): ChatMessage[] => [
  {
    role: 'assistant',
    content: '',
    toolCalls: Object.keys(outputs).map((id) => ({ id, name: 'read_file', arguments: JSON.stringify({ path }) })),
  },
  ...Object.entries(outputs).map(([id, output]) => answer(id, output)),
];
const sameAs = (where: string, to = 40): string => `[output lines 1–${to}: same as lines 1–${to} of ${where} above]`;
/** Copies the messages: `fit` remembers lists of messages that it has seen. */
const fitted = (messages: readonly ChatMessage[], options: FitOptions = REFERENCES): string[] =>
  results(fit<ChatMessage>(structuredClone([...messages]), options).messages);

/** For the request whose newest result answers this call: the calls whose results are masked, and the turns left out before a turn. */
type Script = Record<string, { readonly mask?: readonly string[]; readonly leaveOutUpTo?: number }>;

/** A policy that does as the script says, once. Shows each request to `look`. */
const follow = (script: Script, look: (request: RequestView) => void = () => {}): Policy => ({
  name: 'scripted',
  leavesOut: true,
  arrival: { references: true },
  init: () => undefined,
  step: (state, request) => {
    look(request);
    const { mask = [], leaveOutUpTo } = script[request.observations.at(-1)?.callId ?? ''] ?? {};
    const named = request.observations.filter(({ callId }) => mask.includes(callId ?? ''));
    const masked = named[0]?.masked ? [] : named;
    const summarize = leaveOutUpTo !== undefined && request.omitted === 0 ? { summarize: leaveOutUpTo } : {};
    return {
      state,
      mask: masked.map(({ segment }) => segment),
      ...summarize,
      because: { act: 'mask', because: 'the script says so' },
    };
  },
});

/** The results as each request sends them. */
function requests(policy: Policy, turns: readonly (readonly ChatMessage[])[], options: FitOptions = {}): string[][] {
  const planner = createPlanner<ChatMessage>({ format: 'chat', policy, ...options });
  return turns.map((messages, i) => {
    planner.add(...(i === 0 ? [TASK] : []), ...messages);
    return results(planner.messages());
  });
}

const isMasked = (text: string | undefined): boolean => /^\[.* masked[^\n]*\]$/.test(text ?? '');

describe('an argument of a call', () => {
  const args = JSON.stringify({ path: 'src/a.ts', content: A });
  const written = toolTurn({ id: 'c1', tool: 'write_file', args, output: 'written', text: prose(1500) });
  const SHOWN = '[output lines 1–40: same as content lines 1–40 of your last call of write_file src/a.ts above]';

  it('is referred to when a result shows it again', () => {
    expect(fitted([TASK, ...written, ...read('c2', 'src/a.ts', A)])).toEqual(['written', SHOWN]);
  });

  it('is not referred to after its turn was left out', () => {
    const turns = [written, read('c2', 'src/b.ts', B), read('c3', 'src/a.ts', A), read('c4', 'src/a.ts', A)];
    expect(requests(follow({ c2: { leaveOutUpTo: 1 } }), turns)[3]).toEqual([
      B,
      A,
      sameAs('the last read_file src/a.ts'),
    ]);
  });

  it('loses its references when its turn is left out', () => {
    const turns = [written, read('c2', 'src/a.ts', A), read('c3', 'src/b.ts', B)];
    const sent = requests(follow({ c3: { leaveOutUpTo: 1 } }), turns);
    expect(sent[1]).toEqual(['written', SHOWN]);
    expect(sent[2]?.map(isMasked)).toEqual([true, false]);
  });

  it('is not the words of the user or of the model', () => {
    const said: ChatMessage = { role: 'assistant', content: A };
    expect(fitted([user(A), said, user(A), ...read('c1', 'src/a.ts', A)])).toEqual([A]);
  });
});

describe('the old text of an edit', () => {
  const edit = turn('c1', 'edit', { path: 'src/a.ts', old_string: A, new_string: B }, 'edited');
  const both = [TASK, ...edit, ...turn('c2', 'bash', { command: 'cat old' }, A), ...read('c3', 'src/a.ts', B)];
  const texts = (oldTexts: boolean): string[] =>
    fitted(both, { policy: breakEven({ oldTexts, clean: false }), format: 'chat' });

  it('is referred to like any other argument', () => {
    expect(texts(false)).toEqual([
      'edited',
      '[output lines 1–40: same as old_string lines 1–40 of your last call of edit src/a.ts above]',
      '[output lines 1–40: same as new_string lines 1–40 of your last call of edit src/a.ts above]',
    ]);
  });

  it('is not, if old texts are shortened later', () => {
    expect(texts(true)).toEqual([
      'edited',
      A,
      '[output lines 1–40: same as new_string lines 1–40 of your last call of edit src/a.ts above]',
    ]);
  });
});

describe('a long shell output', () => {
  const log = (from: number, to: number): string =>
    range(from, to)
      .map((n) => `step ${n} of the build took ${(n * 7919) % 1000} ms`)
      .join('\n');
  const shell = (id: string, output: string): ChatMessage[] => turn(id, 'bash', { command: 'make' }, output);
  const only = (arrival: ArrivalOptions): FitOptions => ({ policy: never(), format: 'chat', arrival });
  const KEPT = /\[truncated: kept first\+last\+failures ~300 of ~\d+ tokens \(shell\)\]$/;

  it('is shortened when it arrives, though nothing else is', () => {
    const { plan, messages: sent } = fit([TASK, ...shell('c1', log(1, 300))], only({ shellOutput: 300 }));
    expect(results(sent)[0]).toMatch(KEPT);
    expect(results(sent)[0]).toMatch(/^step 1 of/);
    expect(plan.edits).toMatchObject([{ kind: 'replace', why: 'shell-output' }]);
    expect(fitted([TASK, ...shell('c1', log(1, 300))], only({}))).toEqual([log(1, 300)]);
  });

  it('stays if it is not longer than the limit, or no shell output', () => {
    expect(fitted([TASK, ...shell('c1', log(1, 10))], only({ shellOutput: 300 }))).toEqual([log(1, 10)]);
    expect(fitted([TASK, ...read('c1', 'log', log(1, 300))], only({ shellOutput: 300 }))).toEqual([log(1, 300)]);
    const search = turn('c1', 'grep', { pattern: 'step' }, log(1, 300));
    expect(fitted([TASK, ...search], only({ shellOutput: 300 }))).toEqual([log(1, 300)]);
  });

  it('stays if it is a diff', () => {
    const diff = `--- a/a.ts\n+++ b/a.ts\n@@ -1,300 +1,300 @@\n${log(1, 300).replaceAll(/^/gm, '+')}`;
    expect(fitted([TASK, ...shell('c1', diff)], only({ shellOutput: 300 }))).toEqual([diff]);
  });

  it('is cleaned first', () => {
    const coloured = log(1, 300).replaceAll(/^.*$/gm, '\u001b[32m$&\u001b[0m');
    const [text] = fitted([TASK, ...shell('c1', coloured)], only({ shellOutput: 300, clean: true }));
    expect(text).toMatch(/^step 1 of/);
    expect(text).toMatch(KEPT);
  });

  it('is only cleaned if it is short enough then', () => {
    const repeated = `${'waiting for the server\n'.repeat(400)}done`;
    expect(fitted([TASK, ...shell('c1', repeated)], only({ shellOutput: 300, clean: true }))).toEqual([
      'waiting for the server\n[the line above 399 more times]\ndone',
    ]);
  });

  it('is shortened after its repeated lines were replaced by references', () => {
    const options = only({ shellOutput: 300, references: true });
    const texts = fitted([TASK, ...read('c1', 'log', log(1, 150)), ...shell('c2', log(1, 400))], options);
    expect(texts[0]).toBe(log(1, 150));
    expect(texts[1]).toMatch(/^\[output lines 1–150: same as lines 1–150 of the last read_file log above\]\nstep 151/);
    expect(texts[1]).toMatch(KEPT);
  });

  it('is only given references if it is short enough then', () => {
    const options = only({ shellOutput: 300, references: true });
    const texts = fitted([TASK, ...read('c1', 'log', log(1, 150)), ...shell('c2', log(1, 150))], options);
    expect(texts[1]).toBe(sameAs('the last read_file log', 150));
  });
});

describe('a result that is sent for the first time', () => {
  it('is cut at the limit, with and without references', () => {
    for (const references of [false, true]) {
      const options: FitOptions = { policy: never(), format: 'chat', arrival: { truncate: 100, references } };
      expect(fitted([TASK, ...read('c1', 'src/a.ts', A)], options)[0]).toContain('[truncated: kept ');
      expect(fitted([TASK, ...read('c1', 'src/a.ts', lines('a', 1, 5))], options)).toEqual([lines('a', 1, 5)]);
    }
  });

  it('has an edit that says how it was made smaller', () => {
    const messy = turn('c1', 'bash', { command: 'make' }, 'waiting for the server\n'.repeat(40));
    const list = [TASK, ...messy, ...read('c2', 'src/a.ts', A), ...read('c3', 'src/a.ts', A)];
    const { plan } = fit(list, { policy: never({ clean: true, references: true }), format: 'chat' });
    expect(plan.edits).toMatchObject([{ why: 'clean' }, { why: 'references' }]);
  });

  it.each([
    `[shortened from 9000 chars · ${handleOf('an original')}]`,
    '[truncated: kept first+last ~100 of ~900 tokens (both)]',
  ])('stays as it is if it was made smaller before: %s', (end) => {
    const output = `${'waiting for the server\n'.repeat(40)}${end}`;
    const options: FitOptions = { policy: never({ clean: true, references: true }), format: 'chat' };
    expect(fitted([TASK, ...turn('c1', 'bash', { command: 'make' }, output)], options)).toEqual([output]);
  });

  it('stays as it is if the caller says that it was sent before', () => {
    const list = [TASK, ...turn('c1', 'bash', { command: 'make' }, `${A}  \n\n\n\n\n`)];
    for (const references of [false, true]) {
      const arrival = { clean: true, truncate: 100, references };
      const planner = new Planner(chat, { policy: never(), parts: allParts, arrival, sent: new Set(list) });
      planner.take(list);
      expect(planner.messages()).toEqual(list);
    }
  });

  it('is cleaned and has no references in a period without them', () => {
    const periods = [
      { ...OFF, references: true, fromMessage: 0 },
      { ...OFF, clean: true, fromMessage: 3 },
    ];
    const planner = new Planner(chat, { policy: never(), parts: allParts, arrivalPeriods: periods });
    planner.take([TASK, ...read('c1', 'src/a.ts', A), ...turn('c2', 'bash', { command: 'make' }, `${A}  \n\n\n\n`)]);
    expect(results(planner.messages())[1]).toContain('const a1 =');
    expect(results(planner.messages())[1]?.length).toBeLessThan(A.length + 3);
  });

  it('is compared as it came with a result that was sent uncleaned', () => {
    const output = A.replaceAll(/$/gm, '  ');
    const arrivalPeriods = [
      { ...OFF, references: true, fromMessage: 0 },
      { ...OFF, references: true, clean: true, fromMessage: 3 },
    ];
    const planner = new Planner(chat, { policy: never(), parts: allParts, arrivalPeriods });
    planner.take([TASK, ...['c1', 'c2'].flatMap((id) => turn(id, 'bash', { command: 'make' }, output))]);
    expect(results(planner.messages())).toEqual([output, sameAs('the last bash make')]);
  });

  it('that is too long is neither made smaller nor searched', () => {
    const long = `${A}\n${'x'.repeat(arrivalLimits.resultChars - A.length)}`;
    expect(fitted([TASK, ...read('c1', 'src/a.ts', A), ...read('c2', 'src/a.ts', long)])).toEqual([A, long]);
    expect(fitted([TASK, ...read('c1', 'src/a.ts', long), ...read('c2', 'src/a.ts', A)])).toEqual([long, A]);
    const waiting = 'waiting for the server\n'.repeat(arrivalLimits.resultChars / 20);
    const cleaned: FitOptions = { policy: never({ clean: true }), format: 'chat' };
    expect(fitted([TASK, ...turn('c1', 'bash', { command: 'make' }, waiting)], cleaned)).toEqual([waiting]);
    const searched = long.slice(1);
    expect(fitted([TASK, ...read('c1', 'src/a.ts', searched), ...read('c2', 'src/a.ts', searched)])[1]).toContain(
      ': same as lines 1–',
    );
    expect(
      fitted([
        TASK,
        ...read('c1', 'src/a.ts', searched),
        ...read('c2', 'src/b.ts', B),
        ...read('c3', 'src/a.ts', lines('a', 2)),
      ])[2],
    ).toBe('[output lines 1–39: same as lines 2–40 of the last read_file src/a.ts above]');
  });

  it('stays as it is with an image in it, or if its call failed', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } };
    const use = (id: string): object => ({ type: 'tool_use', id, name: 'bash', input: { command: 'make' } });
    const messy = `${A}  \n\n\n\n\u001b[32mdone\u001b[0m`;
    const sentAs = (about: object): unknown => {
      const messages = ['c1', 'c2'].flatMap((id) => [
        { role: 'assistant', content: [use(id)] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: id, ...(id === 'c1' ? { content: A } : about) }],
        },
      ]);
      const list = [{ role: 'user', content: 'Fix it.' }, ...messages];
      const options = { policy: never({ clean: true, references: true }), format: 'anthropic' as const };
      return JSON.parse(JSON.stringify(fit<object>(list, options).messages.at(-1))).content[0].content;
    };
    const content = [{ type: 'text', text: messy }, image];
    expect(sentAs({ content })).toEqual(content);
    expect(sentAs({ content: messy })).toContain(': same as lines 1–40 of');
    const failed = sentAs({ content: messy, is_error: true });
    expect(failed).toContain('const a40 =');
    expect(failed).not.toContain('\u001b');
  });
});

describe('a result that refers to another', () => {
  it('is masked in the request that masks the other one', () => {
    const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/a.ts', A), read('c3', 'src/b.ts', B)];
    const sent = requests(follow({ c3: { mask: ['c1'] } }), turns);
    expect(sent[1]).toEqual([A, sameAs('the last read_file src/a.ts')]);
    expect(sent[2]?.map(isMasked)).toEqual([true, true, false]);
  });

  it('is masked, also by a policy whose placeholders quote the first line', () => {
    const policy = { ...follow({ c3: { mask: ['c1'] } }), style: oldestBatch().style as PlaceholderStyle };
    const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/a.ts', A), read('c3', 'src/b.ts', B)];
    const [first, second] = requests(policy, turns)[2] ?? [];
    expect(first).toBe('[read_file result masked -- 40 lines, starts with: const a1 = compute(7919);]');
    expect(second).toMatch(/^\[read_file: 1 line, \d+ chars masked\]$/);
  });

  it('is masked if only one of two others is', () => {
    const both = turn('c3', 'bash', { command: 'cat a b' }, `${A}\nand\n${B}`);
    for (const lost of ['c1', 'c2']) {
      const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/b.ts', B), both, turn('c4', 'list', {}, 'empty')];
      const sent = requests(follow({ c4: { mask: [lost] } }), turns);
      expect(sent[2]?.[2]?.split('\n').map((line) => line.includes(': same as '))).toEqual([true, false, true]);
      expect(isMasked(sent[3]?.[2])).toBe(true);
    }
  });

  it('is masked when the turn of the other one is left out', () => {
    const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/a.ts', A), read('c3', 'src/b.ts', B)];
    expect(requests(follow({ c3: { leaveOutUpTo: 1 } }), turns)[2]?.map(isMasked)).toEqual([true, false]);
  });

  it('stays when other turns are left out', () => {
    const turns = [
      read('c1', 'src/b.ts', B),
      read('c2', 'src/a.ts', A),
      read('c3', 'src/a.ts', A),
      turn('c4', 'list', {}, 'empty'),
    ];
    expect(requests(follow({ c4: { leaveOutUpTo: 1 } }), turns)[3]).toEqual([
      A,
      sameAs('the last read_file src/a.ts'),
      'empty',
    ]);
  });

  /** One file three times, the last time in the second of two results of a turn. */
  const threeReads = [
    TASK,
    ...read('c1', 'src/a.ts', A),
    ...read('c2', 'src/a.ts', A),
    ...reads('src/b.ts', { c3: B, c4: A }),
  ];

  it('is as it was if the request that masked it is undone', () => {
    for (const act of [{ mask: ['c1'] }, { leaveOutUpTo: 1 }]) {
      const planner = createPlanner<ChatMessage>({ format: 'chat', policy: follow({ c3: act }) });
      planner.add(...threeReads.slice(0, -1));
      expect(results(planner.messages())).not.toContain(A);
      planner.add(...threeReads.slice(-1));
      expect(results(planner.messages())).toEqual([
        A,
        sameAs('the last read_file src/a.ts'),
        B,
        sameAs('the 2nd last read_file src/a.ts'),
      ]);
    }
  });

  it('is as it was if the request that masked it, and then the other one, is undone', () => {
    for (const recall of [true, false]) {
      const oldestFirst = follow({ c3: { mask: ['c1', 'c2'] } });
      const step: Policy['step'] = (state, request) => {
        const { mask, ...rest } = oldestFirst.step(state, request);
        return { ...rest, mask: mask.toReversed() };
      };
      const planner = createPlanner<ChatMessage>({ format: 'chat', policy: { ...oldestFirst, step }, recall });
      planner.add(...threeReads.slice(0, -1));
      expect(results(planner.messages()).map(isMasked)).toEqual([true, true, false]);
      planner.add(...threeReads.slice(-1));
      const texts = results(planner.messages());
      expect(texts[0]).toBe(A);
      expect(texts[1]).toContain(sameAs('the last read_file src/a.ts'));
      expect(texts[3]).toContain(sameAs('the 2nd last read_file src/a.ts'));
    }
  });

  it('is masked after older ones that lost their targets', () => {
    const list = [
      TASK,
      ...read('c1', 'src/a.ts', A),
      ...read('c2', 'src/b.ts', B),
      ...read('c3', 'src/b.ts', B),
      ...read('c4', 'src/a.ts', A),
      ...read('c5', 'src/c.ts', 'ok'),
    ];
    const { hidden } = fit<ChatMessage>(list, { policy: follow({ c5: { mask: ['c1', 'c2'] } }), format: 'chat' });
    const masked = hidden.filter(({ why }) => why === 'mask').map(({ callId }) => callId);
    expect(masked).toEqual(['c1', 'c2', 'c3', 'c4']);
  });

  it('is stored as it was sent when it is masked', () => {
    const list = [TASK, ...read('c1', 'src/a.ts', A), ...read('c2', 'src/a.ts', A), ...read('c3', 'src/b.ts', B)];
    const { hidden } = fit<ChatMessage>(list, { policy: follow({ c3: { mask: ['c1'] } }), format: 'chat' });
    expect(hidden.filter(({ why }) => why === 'mask').map(({ text }) => text)).toEqual([
      A,
      sameAs('the last read_file src/a.ts'),
    ]);
  });

  it('is in a group with the other one, as long as both are sent', () => {
    const groups: (string | undefined)[][] = [];
    const look = ({ observations }: RequestView): void => {
      groups.push(
        observations.map(
          ({ group }) =>
            group &&
            [...group.members]
              .map(({ callId }) => callId)
              .sort()
              .join(),
        ),
      );
    };
    const turns = [
      read('c1', 'src/a.ts', A),
      read('c2', 'src/a.ts', A),
      read('c3', 'src/b.ts', B),
      read('c4', 'src/a.ts', A),
      read('c5', 'src/a.ts', A),
    ];
    requests(follow({ c3: { mask: ['c1'] } }, look), turns);
    // The first request has only the task.
    expect(groups[2]).toEqual(['c1,c2', 'c1,c2']);
    expect(groups[3]).toEqual(['c1,c2', 'c1,c2', undefined]);
    // The policy is asked again after the repair.
    expect(groups[4]).toEqual([undefined, undefined, undefined]);
    expect(groups.at(-1)).toEqual([undefined, undefined, undefined, 'c4,c5', 'c4,c5']);
  });

  it('is in that group again if the request that masked both is undone', () => {
    let groups: boolean[] = [];
    const look = ({ observations }: RequestView): void => {
      groups = observations.map(({ group }) => group !== undefined);
    };
    const planner = createPlanner<ChatMessage>({ format: 'chat', policy: follow({ c3: { mask: ['c1'] } }, look) });
    const list = [TASK, ...read('c1', 'src/a.ts', A), ...read('c2', 'src/a.ts', A), ...reads('b', { c3: B, c4: 'ok' })];
    planner.add(...list.slice(0, -1));
    expect(groups).toEqual([false, false, false]);
    planner.add(...list.slice(-1));
    expect(groups).toEqual([true, true, false, false]);
  });

  it('tells the policy that sizes have changed when it is masked', () => {
    const revisions: number[] = [];
    const look = ({ revision }: RequestView): void => void revisions.push(revision);
    const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/a.ts', A), read('c3', 'src/b.ts', B)];
    requests(follow({}, look), turns);
    expect(revisions).toEqual([0, 0, 0, 0]);
    revisions.length = 0;
    requests(follow({ c3: { mask: ['c1'] } }, look), turns);
    expect(revisions.slice(0, 4)).toEqual([0, 0, 0, 0]);
    expect(revisions[4]).toBeGreaterThan(0);
  });

  it('counts only texts that are sent', () => {
    const again = `${A}\nmore`;
    const turns = [
      read('c1', 'src/a.ts', 'an older file'.repeat(90)),
      read('c2', 'src/a.ts', A),
      turn('c3', 'list', {}, 'empty'),
      read('c4', 'src/a.ts', again),
    ];
    expect(requests(follow({ c3: { leaveOutUpTo: 2 } }), turns)[3]?.at(-1)).toBe(again);
    expect(requests(follow({ c3: { leaveOutUpTo: 1 } }), turns)[3]?.at(-1)).toBe(
      `${sameAs('the last read_file src/a.ts')}\nmore`,
    );
  });
});

describe('a new result whose reference is lost at once', () => {
  const first = read('c1', 'src/a.ts', A);

  it('is sent whole, and a result after it refers to it', () => {
    const turns = [first, reads('src/a.ts', { c2: A, c3: A })];
    expect(requests(follow({}), turns)[1]).toEqual([
      A,
      sameAs('the last read_file src/a.ts'),
      sameAs('the 2nd last read_file src/a.ts'),
    ]);
    const [masked, ...sent] = requests(follow({ c3: { mask: ['c1'] } }), turns)[1] ?? [];
    expect(isMasked(masked)).toBe(true);
    expect(sent).toEqual([A, sameAs('the last read_file src/a.ts')]);
  });

  it('is sent whole beside another one that lost its target too', () => {
    const both = reads('src', { c3: A, c4: B });
    const turns = [read('c1', 'src/a.ts', A), read('c2', 'src/b.ts', B), both];
    expect(requests(follow({ c4: { mask: ['c1', 'c2'] } }), turns)[2]?.slice(2)).toEqual([A, B]);
  });

  it('is sent whole if the turn of the other one is left out', () => {
    expect(requests(follow({ c2: { leaveOutUpTo: 1 } }), [first, read('c2', 'src/a.ts', A)])[1]).toEqual([A]);
  });

  it('is shortened as a new one is', () => {
    const turns = [first, read('c2', 'src/a.ts', `${A}\n${B}`)];
    const limit = { arrival: { truncate: 700 } };
    expect(requests(follow({}), turns, limit)[1]?.[1]).toBe(`${sameAs('the last read_file src/a.ts')}\n${B}`);
    const [, text] = requests(follow({ c2: { mask: ['c1'] } }), turns, limit)[1] ?? [];
    expect(text).toMatch(/^const a1 = .*\[truncated: kept .* = compute\(316760\);$/s);
  });

  it('is referred to by a result after it that had nothing to refer to', () => {
    // The fifth last read is too far away.
    const outputs = { c2: A, c3: '1', c4: '2', c5: '3', c6: A };
    const list = [TASK, ...first, ...reads('src/a.ts', outputs)];
    const sentBy = (script: Script, sent: readonly ChatMessage[]): string[] => {
      const planner = new Planner(chat, { policy: follow(script), parts: allParts, sent: new Set(sent) });
      planner.take(list);
      return results(planner.messages());
    };
    const [one, ...before] = sentBy({}, []);
    expect([one, ...before]).toEqual([A, sameAs('the last read_file src/a.ts'), '1', '2', '3', A]);
    const [masked, ...after] = sentBy({ c6: { mask: ['c1'] } }, []);
    expect(isMasked(masked)).toBe(true);
    expect(after).toEqual([A, '1', '2', '3', sameAs('the 4th last read_file src/a.ts')]);
    expect(sentBy({ c6: { mask: ['c1'] } }, list.slice(-1)).at(-1)).toBe(A);
  });

  it('is referred to by a result after it that was only cleaned', () => {
    const outputs = { c2: A, c3: '1', c4: '2', c5: '3', c6: A.replaceAll('\n', '\u001b[0m\n') };
    const policy = { ...follow({ c6: { mask: ['c1'] } }), arrival: { clean: true, references: true } };
    const sent = requests(policy, [first, reads('src/a.ts', outputs)])[1] ?? [];
    expect(sent.slice(1)).toEqual([A, '1', '2', '3', sameAs('the 4th last read_file src/a.ts')]);
  });

  it('covers the lines that it shows then', () => {
    let covered: (string | undefined)[] = [];
    const look = ({ observations }: RequestView): void => {
      covered = observations.map(({ coveredBy }) => coveredBy?.callId);
    };
    const policy = { ...follow({ c3: { mask: ['c1'] } }, look), toolUse: readToolUse };
    const part = (id: string, offset: number, limit: number, output: string): ChatMessage[] =>
      turn(id, 'read_file', { path: 'src/a.ts', offset, limit }, output);
    requests(policy, [part('c1', 1, 40, A), part('c2', 21, 20, lines('b', 21, 40)), part('c3', 1, 40, A)]);
    expect(covered).toEqual([undefined, 'c3', undefined]);
  });

  it('is masked if it only quotes a reference', () => {
    const quote = turn('c2', 'bash', { command: 'cat log' }, sameAs('the last read_file src/a.ts'));
    expect(requests(follow({ c2: { mask: ['c1'] } }), [first, quote])[1]?.map(isMasked)).toEqual([true, true]);
  });

  it('does not bring back a result after it that is masked', () => {
    const turns = [first, reads('src/a.ts', { c2: A, c3: B })];
    const sent = requests(follow({ c3: { mask: ['c1', 'c3'] } }), turns)[1] ?? [];
    expect(sent.map(isMasked)).toEqual([true, false, true]);
    expect(sent[1]).toBe(A);
  });

  it('changes no older result', () => {
    const turns = [
      TASK,
      ...read('b1', 'src/b.ts', B),
      ...read('b2', 'src/b.ts', B),
      ...first,
      ...read('c2', 'src/a.ts', A),
    ];
    const policy = follow({ c2: { mask: ['c1'] } });
    const { messages, hidden } = fit<ChatMessage>(turns, { policy, format: 'chat' });
    expect(results(messages)[1]).toBe(sameAs('the last read_file src/b.ts'));
    expect(hidden.filter(({ callId }) => callId === 'b2')).toHaveLength(1);
  });

  it('leaves a result after it alone that quotes a reference', () => {
    const quote = `${sameAs('the last read_file src/b.ts')}\n${'\u001b[32mok\u001b[0m\n'.repeat(40)}`;
    const policy = { ...follow({ c3: { mask: ['c1'] } }), arrival: { clean: true, references: true } };
    const [, ...sent] = requests(policy, [first, reads('src/a.ts', { c2: A, c3: quote })])[1] ?? [];
    expect(sent).toEqual([A, quote]);
  });

  it('leaves a result after it alone that was clipped in the same request', () => {
    const turns = [TASK, ...first, ...reads('src/a.ts', { c2: A, c3: `${B}\n${lines('c', 1, 200)}` })];
    const { hidden } = fit<ChatMessage>(turns, { policy: follow({}), format: 'chat', maxTokens: 1800 });
    expect(hidden.map(({ why, callId }) => `${why} ${callId}`)).toEqual(['references c2', 'mask c1', 'clip c3']);
  });

  it('is masked if it was sent before', () => {
    const list = [TASK, ...first, ...read('c2', 'src/a.ts', sameAs('the last read_file src/a.ts'))];
    const policy = follow({ c2: { mask: ['c1'] } });
    const planner = new Planner(chat, { policy, parts: allParts, sent: new Set(list) });
    planner.take(list);
    expect(results(planner.messages()).map(isMasked)).toEqual([true, true]);
  });
});

describe('a result that was sent whole, because the text that it repeats was too far back', () => {
  const others = range(2, 5).map((n) => read(`c${n}`, 'src/a.ts', lines(`other${n}x`)));
  const turns = [[...read('c1', 'src/a.ts', A), user('Go on.')], ...others, read('c6', 'src/b.ts', A)];
  const THIRD = sameAs('the 3rd last read_file src/a.ts');

  it('refers to it when turns between them are left out, as in a history that comes back', () => {
    const policy = follow({ c6: { leaveOutUpTo: 3 } });
    expect(requests(follow({}), turns)[5]?.at(-1)).toBe(A);
    const { messages } = fit<ChatMessage>([TASK, ...turns.flat()], { policy, format: 'chat' });
    expect(results(messages)).toEqual([A, ...[4, 5].map((n) => lines(`other${n}x`)), THIRD]);
    expect(fitted(messages)).toEqual(results(messages));
  });

  it('refers to it also if it was sent in an earlier request', () => {
    const list = [...turns, turn('c7', 'list', {}, 'empty'), turn('c8', 'list', {}, 'empty')];
    const sent = requests(follow({ c8: { leaveOutUpTo: 3 } }), list);
    expect(sent[6]?.at(-2)).toBe(A);
    expect(sent[7]?.at(-3)).toBe(THIRD);
  });

  it('is whole again if that request is undone', () => {
    const planner = createPlanner<ChatMessage>({ format: 'chat', policy: follow({ c6: { leaveOutUpTo: 3 } }) });
    planner.add(TASK, ...turns.flat());
    expect(results(planner.messages()).at(-1)).toBe(THIRD);
    planner.add(answer('c7', 'a result without a call'));
    expect(results(planner.messages()).slice(-2)).toEqual([A, 'a result without a call']);
  });

  it('stays so if the caller says that it was sent before', () => {
    const list = [TASK, ...turns.flat()];
    const policy = follow({ c6: { leaveOutUpTo: 3 } });
    const planner = new Planner(chat, { policy, parts: allParts, sent: new Set(list) });
    planner.take(list);
    expect(results(planner.messages()).map((text) => text === A)).toEqual([true, false, false, true]);
  });

  it('loses the lines that a later result refers to: that one is masked', () => {
    const list = [...turns, read('c7', 'src/b.ts', A), turn('c8', 'list', {}, 'empty')];
    const sent = requests(follow({ c8: { leaveOutUpTo: 3 } }), list);
    expect(sent[6]?.slice(-2)).toEqual([A, sameAs('the last read_file src/b.ts')]);
    expect(sent[7]?.at(-3)).toBe(THIRD);
    expect(isMasked(sent[7]?.at(-2))).toBe(true);
  });

  it('hides from no policy that a newer result refers to an older one', () => {
    const seen: boolean[] = [];
    const policy = follow({ c7: { leaveOutUpTo: 3 } }, ({ hasNewReferences }) => seen.push(hasNewReferences));
    requests(policy, [...turns, read('c7', 'src/c.ts', lines('other5x'))]);
    expect(seen.at(-1)).toBe(true);
  });
});

describe('a fitted history that comes back', () => {
  const given: FitOptions = { ...REFERENCES, recall: true, handleOf };
  const list = [TASK, ...read('c1', 'src/a.ts', A), ...read('c2', 'src/a.ts', A), ...read('c3', 'src/b.ts', B)];
  const { messages: sent } = fit<ChatMessage>(list, given);
  const replaceFirst = (text: string): ChatMessage[] =>
    sent.map((message) => (message.toolCallId === 'c1' ? { ...message, content: text } : message));

  it('is sent again as it is', () => {
    expect(results(sent)[1]).toMatch(/same as lines 1–40 of .*\n\[shortened from /);
    expect(fitted(sent, given)).toEqual(results(sent));
  });

  it.each([
    ['cleared', 'cleared'],
    ['shortened', lines('a', 1, 20)],
    ['masked', '[read_file src/a.ts: 40 lines, 1400 chars masked]'],
  ])('has no reference to a result that the caller has %s', (_, text) => {
    const texts = fitted(replaceFirst(text), given);
    expect([texts[0], isMasked(texts[1]), texts[2]]).toEqual([text, true, B]);
  });

  it('has no reference to a turn that the caller has left out', () => {
    expect(fitted(sent.toSpliced(1, 2), given).map(isMasked)).toEqual([true, false]);
  });

  it('shows that a result was not masked before another one referred to it', () => {
    // Masks the first result as soon as the second is masked. In the fitted history the second is masked from the start.
    const policy: Policy = {
      ...follow({}),
      step: (state, { observations }) => {
        const [one, two, , four] = observations;
        const mask = two?.masked && observations.length === 2 ? one : four && !two?.masked ? two : undefined;
        return { state, mask: mask ? [mask.segment] : [], because: { act: 'mask', because: 'the test says so' } };
      },
    };
    const turns = [
      read('c1', 'src/a.ts', A),
      read('c2', 'src/b.ts', B),
      read('c3', 'src/a.ts', A),
      turn('c4', 'list', {}, 'empty'),
    ];
    const options: FitOptions = { policy, format: 'chat' };
    const { messages: once } = fit<ChatMessage>([TASK, ...turns.flat()], options);
    expect(results(once).map(isMasked)).toEqual([false, true, false, false]);
    expect(results(once)[2]).toBe(sameAs('the last read_file src/a.ts'));
    expect(fit(structuredClone(once), options).messages).toEqual(once);
  });

  it('is not cleaned where it has references', () => {
    const text = `${sameAs('the last read_file src/a.ts')}\n\u001b[32mok\u001b[0m  \n\n\n\n`;
    const options: FitOptions = { policy: never({ clean: true, references: true }), format: 'chat' };
    const output = turn('c2', 'bash', { command: 'make' }, text);
    expect(fitted([TASK, ...read('c1', 'src/a.ts', A), ...output], options)).toEqual([A, text]);
  });

  it('keeps an output that quotes a reference from before the period with references', () => {
    const quote = turn('c2', 'bash', { command: 'cat log' }, sameAs('the last read_file src/a.ts'));
    const arrivalPeriods = [{ ...OFF, references: true, fromMessage: 5 }];
    const policy = follow({ c3: { mask: ['c1'] } });
    const planner = new Planner(chat, { policy, parts: allParts, arrivalPeriods });
    planner.take([TASK, ...read('c1', 'src/a.ts', A), ...quote, ...read('c3', 'src/b.ts', B)]);
    expect(results(planner.messages()).map(isMasked)).toEqual([true, false, false]);
  });

  it('keeps an output that quotes a reference to a masked result, until the next request', () => {
    const turns = [
      read('c1', 'src/a.ts', A),
      read('c2', 'src/b.ts', B),
      turn('c3', 'bash', { command: 'cat log' }, sameAs('the last read_file src/a.ts')),
      turn('c4', 'list', {}, 'empty'),
    ];
    const texts = requests(follow({ c2: { mask: ['c1'] } }), turns);
    expect(texts[2]?.map(isMasked)).toEqual([true, false, false]);
    expect(texts[3]?.map(isMasked)).toEqual([true, false, true, false]);
  });

  it('keeps an output that quotes a reference to nothing, also when turns are left out', () => {
    const quote = sameAs('the last read_file src/missing.ts');
    const turns = [read('c1', 'src/a.ts', A), turn('c2', 'bash', { command: 'cat' }, quote), read('c3', 'src/b.ts', B)];
    expect(requests(follow({ c3: { leaveOutUpTo: 1 } }), turns)[2]).toEqual([quote, B]);
  });

  it('keeps an output that only quotes a reference', () => {
    const quote = sameAs('the last read_file src/missing.ts');
    const quoted = [TASK, ...turn('c1', 'bash', { command: 'cat log' }, `${quote}\n`.repeat(20)), ...list.slice(1)];
    expect(fitted(quoted)[0]).toBe(`${quote}\n`.repeat(20));
  });
});
