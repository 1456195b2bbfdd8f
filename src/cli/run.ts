import { PalimpsestError } from '../errors.ts';
import { runCommand, runHelp } from './agents/run-command.ts';
import { configCommand, configHelp } from './config-command.ts';
import { fitCommand, fitHelp } from './fit-command.ts';
import { inFlags } from './in-flags.ts';
import { type Io, UsageError } from './io.ts';
import { mcpCommand, mcpHelp } from './mcp-command.ts';
import { hintFor } from './parse-options.ts';
import { replayCommand, replayHelp } from './replay/replay-command.ts';
import { reportCommand, reportHelp } from './report-command.ts';
import { serveCommand, serveHelp } from './serve/serve-command.ts';
import { recallCommand, recallHelp } from './store/recall-command.ts';
import { storeCommand, storeHelp } from './store/store-command.ts';
import { version } from './version.ts';

interface Command {
  readonly about: string;
  readonly help: string;
  run(args: readonly string[], io: Io): Promise<number>;
}

const commands: Readonly<Record<string, Command>> = {
  serve: { about: "a gateway: keeps any agent's context small, no code", help: serveHelp, run: serveCommand },
  run: { about: 'start an agent behind its own gateway', help: runHelp, run: runCommand },
  report: { about: 'what masking saves, measured, and whether it does harm', help: reportHelp, run: reportCommand },
  fit: { about: 'fit a message list, or a whole request, into a budget', help: fitHelp, run: fitCommand },
  replay: { about: 'what would each policy have cost in your own runs?', help: replayHelp, run: replayCommand },
  recall: { about: 'print a hidden text by its handle, or list turns', help: recallHelp, run: recallCommand },
  store: { about: 'show and maintain the store', help: storeHelp, run: storeCommand },
  config: { about: 'check a palimpsest.yaml, or show its effect', help: configHelp, run: configCommand },
  mcp: { about: 'an MCP server: an agent reads masked texts again', help: mcpHelp, run: mcpCommand },
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
  if (isHelp(args)) {
    io.stdout(command.help);
    return 0;
  }
  return runSafely(name, command, args, io);
}

/** The arguments after `--` belong to another command. */
function isHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const own = end < 0 ? args : args.slice(0, end);
  return own.includes('--help') || own.includes('-h');
}

async function runSafely(name: string, command: Command, args: readonly string[], io: Io): Promise<number> {
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
