import { wordsIn } from './command-line.ts';
import { words } from './remembered.ts';

/** A program that runs another command: `sudo -u me cat a.ts`, `docker exec box cat a.ts`, `bash -c 'cat a.ts'`. */
interface Wrapper {
  /** Options that take the next word as their value. */
  readonly valued?: ReadonlySet<string>;
  /** The number of words before the command, without options: the duration of `timeout`, the host of `ssh`. */
  readonly operands?: number;
  /** The command begins after such a word, wherever it is. */
  readonly behind?: RegExp;
  /** Without such a word there is no command. */
  readonly needsBehind?: true;
  /** The rest is a command line of its own: `ssh box 'cd x; cat a.ts'`. */
  readonly isScript?: true;
  /** It runs a command only with one of these words: `docker exec`. */
  readonly subcommands?: Readonly<Record<string, Wrapper>>;
  /** The command runs where paths mean other files. */
  readonly isElsewhere?: true;
  /** The command gets its operands from the wrapper: `xargs cat`. */
  readonly givesOperands?: true;
}

const plain: Wrapper = {};
const withValues = (valued: string, more: Wrapper = {}): Wrapper => ({ valued: words(valued), ...more });

const inContainer = withValues(
  '-e -u -w -v -p -h -l -m --env --user --workdir --env-file --volume --mount --name --network --publish --entrypoint ' +
    '--platform --hostname --detach-keys --index',
  { operands: 1, isElsewhere: true },
);
const compose = withValues('-f -p --file --project-name --project-directory --profile --env-file', {
  subcommands: { exec: inContainer, run: inContainer },
});
const docker = withValues('-H -c --host --context --config --log-level', {
  subcommands: { exec: inContainer, run: inContainer, compose, container: { subcommands: { exec: inContainer } } },
});
const DASHES = /^--$/;
const kubernetes = withValues('-n -s --namespace --context --kubeconfig --cluster --user --server', {
  subcommands: {
    exec: withValues('-n -c -f --namespace --container --context --kubeconfig', {
      operands: 1,
      behind: DASHES,
      isElsewhere: true,
    }),
  },
});
const scriptBehind = (behind: RegExp): Wrapper => ({ behind, needsBehind: true, isScript: true });
const shell = scriptBehind(/^-\w*c$/);
const powershell = scriptBehind(/^-c(?:ommand)?$/i);
const runner: Wrapper = { subcommands: { run: withValues('-n -p --with --name --python'), exec: plain } };

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: withValues('-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --role --type'),
  doas: withValues('-u -C'),
  env: withValues('-u -C --unset --chdir'),
  // `command -v cat` runs nothing.
  command: withValues('-v -V'),
  builtin: plain,
  exec: withValues('-a'),
  time: withValues('-f -o --format --output'),
  timeout: withValues('-k -s --kill-after --signal', { operands: 1 }),
  gtimeout: withValues('-k -s --kill-after --signal', { operands: 1 }),
  nice: withValues('-n --adjustment'),
  ionice: withValues('-c -n --class --classdata'),
  nohup: plain,
  setsid: plain,
  stdbuf: withValues('-i -o -e --input --output --error'),
  unbuffer: plain,
  watch: withValues('-n --interval'),
  flock: withValues('-w -E --timeout', { operands: 1 }),
  busybox: plain,
  wsl: withValues('-d -u --distribution --user'),
  npx: withValues('-p --package'),
  uv: runner,
  poetry: runner,
  pipenv: runner,
  pdm: runner,
  bundle: runner,
  conda: runner,
  docker,
  podman: docker,
  nerdctl: docker,
  'docker-compose': compose,
  'podman-compose': compose,
  kubectl: kubernetes,
  oc: kubernetes,
  lxc: { subcommands: { exec: { operands: 1, behind: DASHES, isElsewhere: true } } },
  chroot: withValues('--userspec --groups', { operands: 1, isElsewhere: true }),
  ssh: withValues('-p -i -o -l -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w -B', {
    operands: 1,
    isScript: true,
    isElsewhere: true,
  }),
  adb: withValues('-s -t', { subcommands: { shell: { isScript: true, isElsewhere: true } } }),
  vagrant: { subcommands: { ssh: { ...shell, isElsewhere: true } } },
  su: shell,
  eval: { isScript: true },
  bash: shell,
  sh: shell,
  zsh: shell,
  dash: shell,
  ksh: shell,
  fish: shell,
  ash: shell,
  powershell,
  pwsh: powershell,
  cmd: scriptBehind(/^\/[ck]$/i),
  xargs: withValues('-I -n -P -L -d -s -E -a --max-args --max-procs --max-lines --delimiter --arg-file', {
    givesOperands: true,
  }),
  parallel: withValues('-j -a --jobs', { givesOperands: true }),
  find: { behind: /^-(?:exec|execdir|ok)$/, needsBehind: true, givesOperands: true },
  fd: { behind: /^(?:-x|-X|--exec(?:-batch)?)$/, needsBehind: true, givesOperands: true },
};

/** The command inside all wrappers. */
export interface Unwrapped {
  /** The program without its folder, in small letters, git's with its subcommand (`git-grep`), and its arguments. */
  readonly program: string;
  readonly args: readonly string[];
  /** In place of a program, a command line of its own. */
  readonly script: string | undefined;
  readonly isElsewhere: boolean;
  readonly givesOperands: boolean;
}

/** Removes the wrappers of a command. `withOperands` also removes those that run it on each of their findings. */
export function unwrap(text: string, { withOperands = false }: { readonly withOperands?: boolean } = {}): Unwrapped {
  let rest: readonly string[] = wordsIn(text.replace(/^[({\s]+/, ''));
  let [isElsewhere, givesOperands] = [false, false];
  for (;;) {
    rest = withoutAssignments(rest);
    const name = nameOf(rest[0] ?? '');
    const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
    const isPeeled = wrapper && (withOperands || !wrapper.givesOperands);
    const inner = isPeeled ? commandOf(wrapper, rest.slice(1)) : undefined;
    if (!inner) {
      const [program, args] = name === 'git' ? gitProgram(rest.slice(1)) : [name, rest.slice(1)];
      return { program, args, script: undefined, isElsewhere, givesOperands };
    }
    isElsewhere ||= inner.wrapper.isElsewhere === true;
    givesOperands ||= inner.wrapper.givesOperands === true;
    rest = inner.command;
    if (inner.wrapper.isScript)
      return { program: name, args: rest, script: rest.join(' '), isElsewhere, givesOperands };
  }
}

/** The words that a wrapper runs, and the wrapper of its subcommand; undefined if it runs nothing. */
function commandOf(
  outer: Wrapper,
  args: readonly string[],
): { readonly wrapper: Wrapper; readonly command: readonly string[] } | undefined {
  let wrapper = outer;
  let rest = args;
  while (wrapper.subcommands) {
    const { subcommands }: Wrapper = wrapper;
    const [subcommand = '', ...more]: readonly string[] = withoutOptions(rest, wrapper.valued);
    if (!Object.hasOwn(subcommands, subcommand)) return undefined;
    wrapper = subcommands[subcommand] as Wrapper;
    rest = more;
  }
  const { behind, needsBehind, valued, operands = 0 } = wrapper;
  const at = behind ? rest.findIndex((word) => behind.test(word)) : -1;
  if (at < 0 && needsBehind) return undefined;
  const command = at < 0 ? withoutOptions(rest, valued).slice(operands) : rest.slice(at + 1);
  return command.length === 0 ? undefined : { wrapper, command };
}

function withoutOptions(args: readonly string[], valued: ReadonlySet<string> | undefined): readonly string[] {
  let at = 0;
  while (args[at]?.startsWith('-')) {
    if (args[at] === '--') return args.slice(at + 1);
    at += valued?.has(args[at] ?? '') ? 2 : 1;
  }
  return args.slice(at);
}

function withoutAssignments(args: readonly string[]): readonly string[] {
  let first = 0;
  while (/^\w+=/.test(args[first] ?? '')) first += 1;
  return first === 0 ? args : args.slice(first);
}

/** The program without its folder, and without an attached `<a.ts`. */
const nameOf = (word: string): string => (/^[\w-]+$/.test(word) ? word : plainName(word)).toLowerCase();

const plainName = (word: string): string =>
  word
    .replace(/[<>].*$/s, '')
    .replace(/^.*\//s, '')
    .replace(/\.exe$/i, '');

const GIT_VALUES = words('-C -c --git-dir --work-tree --namespace');

function gitProgram(args: readonly string[]): readonly [string, readonly string[]] {
  const [subcommand, ...rest] = withoutOptions(args, GIT_VALUES);
  return subcommand === undefined ? ['git', args] : [`git-${subcommand.toLowerCase()}`, rest];
}
