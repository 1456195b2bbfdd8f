/** How many bytes of buffers are allocated while something is done. A garbage collection in between makes them fewer. */
export function allocatedBytes(work: () => void): number {
  const before = process.memoryUsage().arrayBuffers;
  work();
  return process.memoryUsage().arrayBuffers - before;
}
