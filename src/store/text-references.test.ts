import { describe, expect, it } from 'vitest';
import { TextReferences, type TimedReference } from './text-references.ts';

const at = (time: number, turn: number): TimedReference => ({ about: { session: 's', turn }, time });

describe('TextReferences', () => {
  it('keeps each reference once, with its first time, in the order in which they came', () => {
    const references = new TextReferences();
    expect(references.all()).toEqual([]);
    for (const one of [at(1, 0), at(2, 0)]) references.add(one);
    expect(references.all()).toEqual([at(1, 0)]);
    for (const one of [at(3, 1), at(4, 0), at(5, 1), at(6, 2)]) references.add(one);
    expect(references.all()).toEqual([at(1, 0), at(3, 1), at(6, 2)]);
  });

  it('tells references apart that differ in any field', () => {
    const references = new TextReferences();
    const abouts = [
      {},
      { session: 's' },
      { session: 's', turn: 1 },
      { session: 's', turn: 1, tool: 'read' },
      { turn: 1 },
    ];
    for (const about of [...abouts, ...abouts]) references.add({ about, time: 0 });
    expect(references.all().map(({ about }) => about)).toEqual(abouts);
  });

  it('removes references, the only one and one of several', () => {
    const references = new TextReferences();
    references.add(at(1, 0));
    references.remove(references.all());
    expect(references.all()).toEqual([]);
    for (const one of [at(2, 0), at(3, 1), at(4, 2)]) references.add(one);
    references.remove([at(2, 0), at(4, 2)]);
    expect(references.all()).toEqual([at(3, 1)]);
    references.remove(references.all());
    expect(references.all()).toEqual([]);
  });
});
