import { describe, expect, it } from 'vitest';
import { unwrap } from './wrappers.ts';

describe('unwrap', () => {
  it.each<[string, string, string[]]>([
    ['cat a', 'cat', ['a']],
    ['/usr/bin/cat a', 'cat', ['a']],
    ['(Cat.EXE a', 'cat', ['a']],
    ['A=1 B="x y" cat a', 'cat', ['a']],
    ['git grep x', 'git-grep', ['x']],
    ['git -C /repo --no-pager -c a=b diff x', 'git-diff', ['x']],
    ['git --version', 'git', ['--version']],
    ['sudo -u me -E A=1 cat a', 'cat', ['a']],
    ['sudo --user=me -- cat a', 'cat', ['a']],
    ['env -u X Y=1 nice -n 5 timeout -s KILL 10 cat a', 'cat', ['a']],
    ['docker exec -it -e A=1 box cat a', 'cat', ['a']],
    ['docker --context far compose -f b.yml exec -T web cat a', 'cat', ['a']],
    ['kubectl -n live exec pod -c app -- cat a', 'cat', ['a']],
    ['kubectl exec -n live pod cat a', 'cat', ['a']],
    ['poetry run python -c x', 'python', ['-c', 'x']],
    ['timeout 5', 'timeout', ['5']],
    ['docker ps', 'docker', ['ps']],
    ['docker run image', 'docker', ['run', 'image']],
    ['command -v cat', 'command', ['-v', 'cat']],
    ['bash run.sh', 'bash', ['run.sh']],
    ['env', 'env', []],
    ['', '', []],
  ])('%s', (text, program, args) => {
    expect(unwrap(text)).toMatchObject({ program, args });
    expect(unwrap(text).script).toBeUndefined();
  });

  it.each<[string, string, boolean]>([
    ["bash -lc 'cat a | head'", 'cat a | head', false],
    ["bash -o pipefail -c 'cat a'", 'cat a', false],
    ['eval "cat a"', 'cat a', false],
    ['sudo su - me -c "cat a"', 'cat a', false],
    ['cmd.exe /c type a', 'type a', false],
    ['pwsh -Command Get-Content a', 'Get-Content a', false],
    ["ssh -p 22 host 'cd x && cat a'", 'cd x && cat a', true],
    ["docker exec box sh -c 'cat a'", 'cat a', true],
    ['adb -s x shell cat a', 'cat a', true],
  ])('%s runs a script', (text, script, isElsewhere) => {
    expect(unwrap(text)).toMatchObject({ script, isElsewhere });
  });

  it('peels programs that run a command on each finding only where that is asked for', () => {
    for (const text of ['xargs -n 1 cat a', 'find . -name x -exec cat {} +', 'fd x -x cat']) {
      expect(unwrap(text, { withOperands: true })).toMatchObject({ program: 'cat', givesOperands: true });
      expect(unwrap(text).program).not.toBe('cat');
    }
  });

  it('takes names that every object has for programs', () => {
    for (const name of ['constructor', 'toString', '__proto__']) expect(unwrap(`${name} a`).args).toEqual(['a']);
    expect(unwrap('docker constructor a').program).toBe('docker');
  });
});
