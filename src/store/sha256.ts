/** SHA-256 (FIPS 180-4), synchronous, for runtimes without `node:crypto`: Web Crypto can only be awaited. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const state = Int32Array.from(INITIAL);
  const whole = bytes.length - (bytes.length % BLOCK);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole; at += BLOCK) compress(state, view, at);
  const rest = bytes.subarray(whole);
  const tail = new DataView(new ArrayBuffer(rest.length < BLOCK - 8 ? BLOCK : 2 * BLOCK));
  new Uint8Array(tail.buffer).set(rest);
  tail.setUint8(rest.length, 0x80);
  tail.setUint32(tail.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
  tail.setUint32(tail.byteLength - 4, bytes.length << 3);
  for (let at = 0; at < tail.byteLength; at += BLOCK) compress(state, tail, at);
  const digest = new DataView(new ArrayBuffer(32));
  for (const [i, word] of state.entries()) digest.setInt32(4 * i, word);
  return new Uint8Array(digest.buffer);
}

const BLOCK = 64;

/** The first 64 primes. */
const PRIMES: number[] = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n);

/** The first 32 bits of the fractional part. */
const fraction = (value: number): number => ((value - Math.floor(value)) * 2 ** 32) | 0;
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

const words = new Int32Array(64);
const rotate = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

function compress(state: Int32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const [early, late] = [words[i - 15] as number, words[i - 2] as number];
    const first = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const second = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[i] = (words[i - 16] as number) + first + (words[i - 7] as number) + second;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const added =
      h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + (ROUND[i] as number) + (words[i] as number);
    const next = added + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + added) | 0, c, b, a, next | 0];
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] as number) + word;
}
