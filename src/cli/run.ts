import { PalimpsestError } from '../errors.ts';
import { inFlags } from './in-flags.ts';
import { type Io, UsageError } from './io.ts';
import { hintFor } from './parse-options.ts';
import { version } from './version.ts';

interface Command {
  readonly about: string;
  /** Loads the one that is run: all of them would slow down the start of each. */
  load(): Promise<LoadedCommand>;
}

interface LoadedCommand {
  readonly help: string;
  run(args: readonly string[], io: Io): Promise<number>;
}

const commands: Readonly<Record<string, Command>> = {
  serve: {
    about: "a gateway: keeps any agent's context small, no code",
    load: () => import('./serve/serve-command.ts'),
  },
  run: { about: 'start an agent behind its own gateway', load: () => import('./agents/run-command.ts') },
  report: {
    about: 'what masking saves, measured, and whether it does harm',
    load: () => import('./report-command.ts'),
  },
  fit: { about: 'fit a message list, or a whole request, into a budget', load: () => import('./fit-command.ts') },
  replay: {
    about: 'what would each policy have cost in your own runs?',
    load: () => import('./replay/replay-command.ts'),
  },
  recall: {
    about: 'print a hidden text by its handle, or list turns',
    load: () => import('./store/recall-command.ts'),
  },
  store: { about: 'show and maintain the store', load: () => import('./store/store-command.ts') },
  config: { about: 'check a palimpsest.yaml, or show its effect', load: () => import('./config-command.ts') },
  mcp: { about: 'an MCP server: an agent reads masked texts again', load: () => import('./mcp-command.ts') },
};

export const help = `palimpsest keeps an agent's context window small, cheap and recoverable.

Usage: palimpsest <command> [options]

Commands:
${Object.entries(commands)
  .map(([name, command]) => `  ${name.padEnd(8)} ${command.about}`)
  .join('\n')}

  palimpsest <command> --help   the options of a command
  palimpsest --version
`;

/** Runs a command line and returns its exit code: 0 done, 1 failed, 2 wrong usage. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const [name, ...args] = argv;
  if (name === 'help' && args.length > 0) return run([...args, '--help'], io);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? io.stderr : io.stdout)(help);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v') {
    io.stdout(`${version}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    const names = Object.keys(commands);
    io.stderr(`palimpsest: no command '${name}'${hintFor(name, names) || '.'} Commands are ${names.join(', ')}.\n`);
    return 2;
  }
  const loaded = await command.load();
  if (isHelp(args)) {
    io.stdout(loaded.help);
    return 0;
  }
  return runSafely(name, loaded, args, io);
}

/** The arguments after `--` belong to another command. */
function isHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  return own.includes('--help') || own.includes('-h');
}

async function runSafely(name: string, command: LoadedCommand, args: readonly string[], io: Io): Promise<number> {
  try {
    return await command.run(args, io);
  } catch (error) {
    const isUsage = error instanceof UsageError || (error instanceof PalimpsestError && error.code === 'BAD_OPTION');
    if (!isUsage && !(error instanceof PalimpsestError) && !isOfSystem(error)) throw error;
    io.stderr(`palimpsest ${name}: ${inFlags(error.message)}\n`);
    if (isUsage) io.stderr(`Try: palimpsest ${name} --help\n`);
    return isUsage ? 2 : 1;
  }
}

/** A full disk, an unreadable folder. Any other error is a bug of ours and keeps its stack. */
const isOfSystem = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;
