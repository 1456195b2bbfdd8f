import { expect, it } from 'vitest';
import { isDiff } from './is-diff.ts';

const names = '--- a/src/a.ts\n+++ b/src/a.ts\n';

it.each([
  ['with counts', `${names}@@ -120,35 +1210,36 @@ function a() {\n x\n`],
  ['of one line', `${names}@@ -1 +1 @@\n-x\n+y\n`],
  ['of one line in a long file', `${names}@@ -120 +121 @@\n-x\n+y\n`],
  ['of a merge', `${names}@@@ -1,2 -1,2 +1,3 @@@\n x\n`],
  ['below other output', `commit 1\n\n${names}@@ -1 +1 @@\n-x\n+y\n`],
])('a diff %s is one', (_, text) => {
  expect(isDiff(text)).toBe(true);
});

it.each([
  ['signs alone', '@@ -1 +1 @@\n'],
  ['names alone', `${names}@@`],
  ['names that are part of a line', `a ${names}@@ -1 +1 @@\n`],
  ['a hunk without numbers', `${names}@@ -a +b @@\n`],
  ['a hunk without new lines', `${names}@@ -1,2 @@\n`],
  ['a hunk with words in place of counts', `${names}@@ -1,a +1,b @@\n`],
  ['a hunk that is not closed', `${names}@@ -1,2 +1,2\n`],
])('%s are no diff', (_, text) => {
  expect(isDiff(text)).toBe(false);
});
