/** A longer timer fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

const LATE = Symbol('late');

/** The outcome of the work; that of `late` if the work takes longer than `ms`. */
export async function inTime<T, L>(work: Promise<T>, ms: number, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const waiting = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS), LATE);
  });
  try {
    const first = await Promise.race([work, waiting]);
    return first === LATE ? late() : first;
  } finally {
    clearTimeout(timer);
  }
}
