import { describe, expect, it } from 'vitest';
import { maskDispatchObservation } from './dispatch.ts';

const BLOCK = 'BEGIN_DISPATCH_RESULT {"task_id":"2.1","status":"ok"} END_DISPATCH_RESULT';
const NOISE = 'noise that nobody needs any more. '.repeat(10);

describe('maskDispatchObservation', () => {
  it('keeps every complete block below one line that says how much went', () => {
    const content = `${NOISE}${BLOCK}${NOISE}${BLOCK}`;
    const masked = `[dispatch output masked — ${2 * NOISE.length} chars]\n${BLOCK}\n${BLOCK}`;
    expect(maskDispatchObservation(content)).toEqual({ masked, maskedChars: content.length - masked.length });
    expect(maskDispatchObservation(content, 50)).toEqual({ masked, maskedChars: content.length - masked.length });
  });

  it('masks a block that never ends, and keeps the complete ones', () => {
    const { masked } = maskDispatchObservation(`BEGIN_DISPATCH_RESULT lost ${NOISE}${BLOCK}`);
    expect(masked).toBe(`[dispatch output masked — ${27 + NOISE.length} chars]\n${BLOCK}`);
  });

  it('without blocks: the placeholder, or the head where a length is given', () => {
    expect(maskDispatchObservation(NOISE)).toEqual({
      masked: `[observation masked — ${NOISE.length} chars]`,
      maskedChars: NOISE.length - 32,
    });
    expect(maskDispatchObservation(NOISE, 20)).toEqual({
      masked: `${NOISE.slice(0, 17)}...`,
      maskedChars: NOISE.length - 20,
    });
  });

  it('never makes a text longer', () => {
    for (const content of ['', 'short', BLOCK, `x${BLOCK}`]) {
      expect(maskDispatchObservation(content)).toEqual({ masked: content, maskedChars: 0 });
    }
    expect(maskDispatchObservation('short', 100)).toEqual({ masked: 'short', maskedChars: 0 });
  });

  it('leaves alone what it masked before', () => {
    const { masked } = maskDispatchObservation(`${NOISE}${BLOCK}${NOISE}`);
    expect(maskDispatchObservation(masked)).toEqual({ masked, maskedChars: 0 });
    expect(maskDispatchObservation(masked, 10)).toEqual({ masked, maskedChars: 0 });
  });

  it('does not mistake output that begins like a masked one', () => {
    const { masked } = maskDispatchObservation(`[dispatch output masked — 3 chars]\n${NOISE}${BLOCK}`);
    expect(masked).toBe(`[dispatch output masked — ${35 + NOISE.length} chars]\n${BLOCK}`);
  });

  // Each end looked for its beginning through the whole text before it: 10 s for 40,000 of them.
  it('reads a megabyte of ends without beginnings in time proportional to it', () => {
    const content = 'END_DISPATCH_RESULT\n'.repeat(40_000);
    expect(maskDispatchObservation(content).masked).toBe('[observation masked — 800000 chars]');
  }, 5000);
});
