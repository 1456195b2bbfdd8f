import fc from 'fast-check';

const COLON = Buffer.from(' :');
const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n  ').map((text) => Buffer.from(text));

function join(open: string, close: string, end: Buffer, parts: readonly Buffer[]): Buffer {
  const list = parts.flatMap((part, i) => (i === 0 ? [part] : [Buffer.from(','), part]));
  return Buffer.concat([Buffer.from(open), ...list, end, Buffer.from(close)]);
}

const piece = fc.oneof(
  fc.constantFrom('a', 'content', '"', '\\', '/', '\u2028', 'ü', '漢', '😀', '{', '}', '[', ']', ',', ':').map(escaped),
  fc.constantFrom('\\u0041', '\\ud83d\\ude00', '\\ud800', '\\n', '\\/', '\\\\', '\\"', '\\u0000'),
);

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A string with its quotes. `\xff` and a cut character are no UTF-8. */
export const oddString: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.array(piece, { maxLength: 6 }),
    fc.constantFrom(Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0), Buffer.of(0xff), Buffer.of(0xe6, 0xbc)),
    fc.nat({ max: 120 }),
  )
  .map(([pieces, invalid, padding]) =>
    Buffer.concat([Buffer.from(`"${pieces.join('')}`), invalid, Buffer.from('x'.repeat(padding)), Buffer.from('"')]),
  );

const scalar = fc.oneof(
  oddString,
  fc
    .constantFrom('1.0', '-0', '12345678901234567890123', '1e5', '1E+400', '0.10', 'true', 'false', 'null', '7')
    .map((text) => Buffer.from(text)),
);

/** JSON as bytes that `JSON.stringify` would never write: numbers, escapes, spaces, repeated keys, invalid UTF-8. */
export const oddJson: fc.Arbitrary<Buffer> = fc.letrec<{ value: Buffer; object: Buffer; list: Buffer }>((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('object'), tie('list')),
  object: fc
    .tuple(fc.array(fc.tuple(oddString, space, space, tie('value')), { maxLength: 5 }), space)
    .map(([members, end]) =>
      join(
        '{',
        '}',
        end,
        members.map(([key, before, after, value]) => Buffer.concat([before, key, COLON, after, value])),
      ),
    ),
  list: fc.tuple(fc.array(fc.tuple(space, tie('value')), { maxLength: 5 }), space).map(([values, end]) =>
    join(
      '[',
      ']',
      end,
      values.map(([before, value]) => Buffer.concat([before, value])),
    ),
  ),
})).value;
