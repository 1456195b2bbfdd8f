import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  breakEven,
  createPlanner,
  type FitOptions,
  fit,
  formatByName,
  PalimpsestError,
  type Policy,
} from '../../src/index.ts';
import { arrivalLimits } from '../../src/limits.ts';
import type { Segment } from '../../src/message.ts';
import { cleanResult } from '../../src/plan/arrival/clean.ts';
import { originalHandle } from '../../src/plan/arrival/last-line.ts';
import { readReferences } from '../../src/plan/arrival/reference-line.ts';
import { resolveReferences, type Visible } from '../../src/plan/arrival/resolve-references.ts';
import { type Shown, shownBy } from '../../src/plan/arrival/shown-by.ts';
import { handleOf } from '../../src/store/handle.ts';
import { anyCase } from '../support/cases.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { flat, formatNames, type Story, write } from '../support/histories.ts';
import { textsOf } from '../support/visible-texts.ts';

const numRuns = Number(process.env.PALIMPSEST_RUNS ?? 250);

const file = (name: string, from: number, to: number): string =>
  Array.from(
    { length: to - from + 1 },
    (_, i) => `${String(from + i).padStart(6)}→const ${name}${from + i} = ${from + i};`,
  ).join('\n');

let made = 0;
function turn(name: string, args: object, content: string): object[] {
  const id = `call_${++made}`;
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
}
const task = { role: 'user', content: 'Fix the failing test.' };
const contents = (messages: readonly object[]): string[] =>
  messages.flatMap((message) =>
    'tool_call_id' in message ? [(message as unknown as { content: string }).content] : [],
  );

describe('a result that first goes out', () => {
  it('refers to the lines that an earlier result shows, and keeps its bytes from then on', () => {
    const read = turn('read_file', { path: 'src/a.ts' }, file('a', 1, 60));
    const again = turn('read_file', { path: 'src/a.ts', offset: 31 }, file('a', 31, 60));
    const planner = createPlanner<object>({ format: 'openai-chat' });
    planner.add(task, ...read);
    const { edits, report } = planner.add(...again);
    expect(edits.map((edit) => edit.kind === 'replace' && edit.why)).toEqual(['references']);
    expect(report.edits.shape).toBe(2);
    const sent = contents(planner.messages());
    expect(sent[1]).toBe('[file lines 31–60: same as lines 31–60 of the last read_file src/a.ts above]');
    for (let i = 1; i < 30; i++) {
      planner.add(...turn('bash', { command: `echo ${i}` }, `${i}: ${'output '.repeat(400)}.`));
      const [first = '', second = ''] = contents(planner.messages());
      if (second === sent[1]) expect(first).toBe(sent[0]);
      else expect(second).toContain('masked');
    }
    expect(contents(planner.messages())[1]).toContain('masked');
  });

  it('shows the handle of its exact original where handles are shown', () => {
    const output = `\u001b[32mok\u001b[0m  \n${'a line that is printed again\n'.repeat(20)}`;
    const { messages, hidden, plan } = fit([task, ...turn('bash', { command: 'npm test' }, output)], {
      recall: true,
      handleOf,
    });
    const [sent = ''] = contents(messages);
    expect(sent).toBe(
      `ok\na line that is printed again\n[the line above 19 more times]\n[shortened from ${output.length} chars · ${handleOf(output)}]`,
    );
    expect(hidden).toEqual([expect.objectContaining({ why: 'clean', text: output, handle: handleOf(output) })]);
    expect(plan.edits).toEqual([expect.objectContaining({ why: 'clean', handle: handleOf(output) })]);
  });

  it('refers to a result that went out uncleaned, since its last line would have cost more', () => {
    const rows = Array.from({ length: 60 }, (_, i) => `row ${i} has the value ${i * 7919} `).join('\n');
    const messages = [task, ...turn('bash', { command: 'a' }, rows), ...turn('bash', { command: 'b' }, rows)];
    const { plan } = fit(messages, { recall: true, handleOf });
    expect(plan.edits.map((edit) => edit.kind === 'replace' && edit.why)).toContain('references');
  });

  it('leads to its exact original when it is masked later, also where it was fed back', () => {
    const output = `${'a line that is printed again\n'.repeat(200)}done, after ${'a long '.repeat(200)}time`;
    const options: FitOptions = { recall: true, handleOf, policy: breakEven({ prices: 'none', window: 1 }) };
    const start = [task, ...turn('bash', { command: 'npm test' }, output)];
    const more = [...turn('bash', { command: 'ls' }, 'a b c'), ...turn('bash', { command: 'ls' }, 'a b c')];
    const sent = fit(start, options).messages;
    const [asSent = ''] = contents(sent);
    const whole = fit([...start, ...more], options);
    const fedBack = fit([...sent, ...more], options);
    expect(originalHandle(asSent)).toBe(handleOf(output));
    expect(contents(whole.messages)[0]).toMatch(new RegExp(`masked · ${handleOf(asSent)}]$`));
    expect(fedBack.messages).toEqual(whole.messages);
    expect(whole.hidden.map(({ text }) => text)).toEqual([output, asSent]);
    expect(fedBack.hidden.map(({ text }) => text)).toEqual([asSent]);
  });

  it('is stored when it is masked, also if its last line shows a handle of another text', () => {
    const output = `${file('a', 1, 60)}\n[shortened from 7431 chars · recall ${handleOf('another text')}]`;
    const options: FitOptions = { recall: true, handleOf, policy: breakEven({ prices: 'none', window: 1 }) };
    const more = [...turn('bash', { command: 'ls' }, 'a b c'), ...turn('bash', { command: 'ls' }, 'a b c')];
    const { messages, hidden } = fit([task, ...turn('bash', { command: 'cat a' }, output), ...more], options);
    expect(contents(messages)[0]).toMatch(new RegExp(`masked · ${handleOf(output)}]$`));
    expect(hidden.map(({ text }) => text)).toEqual([output]);
  });

  it.each([
    ['sliding-window', { turns: 5 }],
    ['swe-agent', {}],
    ['hybrid', {}],
    ['never', {}],
  ])('goes out as it came under %s', async (name, given) => {
    const { makePolicy } = await import('../../src/plan/policies/index.ts');
    const policy = makePolicy({ name, options: given });
    const messages = [
      task,
      ...turn('read_file', { path: 'a' }, file('a', 1, 60)),
      ...turn('read_file', { path: 'a' }, file('a', 1, 60)),
    ];
    expect(contents(fit(messages, { policy }).messages).at(-1)).toBe(file('a', 1, 60));
    expect(fit(messages, { policy, arrival: { references: true } }).report.edits.shape).toBe(1);
  });

  it('goes out as it came if it is longer than the limit, and others do not refer to it', () => {
    const long = file('a', 1, 60_000);
    expect(long.length).toBeGreaterThan(arrivalLimits.resultChars);
    const messages = [
      task,
      ...turn('read_file', { path: 'a' }, long),
      ...turn('bash', { command: 'tail a' }, file('a', 59_000, 60_000)),
    ];
    expect(fit(messages, { arrival: { clean: false } }).report.edits.shape).toBe(0);
    expect(contents(fit(messages).messages)[0]).toBe(long);
  });

  it('is left alone by the option that turns a shaper off', () => {
    const messages = [
      task,
      ...turn('read_file', { path: 'a' }, file('a', 1, 60)),
      ...turn('bash', { command: 'tail -n 40 a' }, file('a', 21, 60).replace(/^ *\d+→/gm, '')),
    ];
    const shaped = (options: FitOptions): number => fit(messages, options).report.edits.shape;
    expect(shaped({})).toBe(2);
    expect(shaped({ arrival: { references: false } })).toBe(1);
    expect(shaped({ arrival: { clean: false } })).toBe(1);
    expect(shaped({ arrival: { clean: false, references: false } })).toBe(0);
    expect(shaped({ policy: breakEven({ clean: false, references: false }) })).toBe(0);
  });

  it.each([
    [{ arrival: { reference: true } }, 'did you mean references?'],
    [{ arrival: { clean: 1 } }, 'fit option arrival option clean to be true or false'],
    [{ arrival: { shellOutput: 0 } }, 'true, false or a number of tokens'],
    [{ arrival: 'off' }, 'an object'],
  ])('refuses %j', (options, said) => {
    expect(() => fit([task], options as never)).toThrow(said);
  });
});

/** Lines of one file, in one of three manners. */
const repeated = fc.tuple(fc.nat(20), fc.integer({ min: 10, max: 40 }), fc.nat(2)).map(([from, count, manner]) => {
  const lines = file('x', from, from + count);
  return manner === 0 ? lines : lines.replace(/^ *(\d+)→/gm, manner === 1 ? '$1: ' : '');
});

/** The same story, but for some results. */
const withTexts = (story: Story, texts: Iterator<string | null>): Story => ({
  ...story,
  turns: story.turns.map((told) => ({
    ...told,
    calls: told.calls.map((call) => ({ ...call, shape: 'string', text: texts.next().value ?? call.text })),
  })),
});

const isOwnStyle = ({ style }: Policy): boolean => style !== undefined && (!style.known || style.keep !== undefined);

const withoutLastLine = (text: string): string =>
  originalHandle(text) === undefined ? text : text.slice(0, text.lastIndexOf('\n['));

describe.each(formatNames)('every reference that goes out on %s', (name) => {
  const format = formatByName(name);

  it('leads to visible lines that give back the very result', () => {
    let references = 0;
    fc.assert(
      fc.property(
        anyCase,
        fc.infiniteStream(fc.option(repeated)),
        ({ story: told, named, settings, repeatIds }, texts) => {
          const story = withTexts(told, texts);
          // Calls that share an id cannot be told apart here. Where placeholders are not the house's, a short result may have none.
          if (repeatIds || isOwnStyle(named.policy)) return;
          const messages = deepFreeze(flat(write(story, name, repeatIds)));
          const arrival = { clean: true, references: true };
          let fitted: ReturnType<typeof fit<object>>;
          try {
            fitted = fit<object>(messages, { ...settings, policy: named.policy, format: name, arrival });
          } catch (error) {
            if (error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE') return;
            throw error;
          }
          const before = format.view(messages);
          const edits = fitted.plan.edits.flatMap((edit) =>
            edit.kind === 'replace' && edit.why === 'references' ? [edit] : [],
          );
          const sent = textsOf(format.view(fitted.messages));
          let next = 0;
          for (const edit of edits.sort((a, b) => a.segment - b.segment)) {
            next = sent.findIndex(({ text }, i) => i >= next && text === edit.text);
            const { text, about } = sent[next] as Visible;
            const { text: original, callId } = before[edit.segment] as Segment;
            const args = before.findLast(
              (one, i) => i < edit.segment && one.kind === 'action' && one.callId === callId,
            )?.text;
            const cleaned = cleanResult(original, shownBy(about.tool, args ?? '') as Shown);
            const rebuilt = resolveReferences(withoutLastLine(text), sent.slice(0, next));
            expect([cleaned, cleaned.replace(/\n$/, ''), original]).toContain(rebuilt);
            references += readReferences(text).length;
            next += 1;
          }
        },
      ),
      { numRuns },
    );
    expect(references).toBeGreaterThan(numRuns / 60);
  });
});
