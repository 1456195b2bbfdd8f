import { type Io, UsageError } from '../io.ts';
import { parseOptions } from '../parse-options.ts';
import { gatewayOptions } from '../serve/serve-options.ts';
import { runAgent } from './run-agent.ts';

export const help = `palimpsest run: starts an agent behind its own gateway.

Usage: palimpsest run [options] -- <command> [arguments]

Starts a gateway on a free port, sets up the agent and its recall for this run
only, and prints at the end what was sent and saved. No configuration file is
changed, and nothing keeps running. The command names the agent: claude, codex,
gemini, qwen, opencode or pi. Any other command finds the addresses in
ANTHROPIC_BASE_URL, OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL. If these are set
already, the gateway forwards requests to those addresses.

Options:
  --for <agent>         which agent the command starts: claude-code, codex,
                        gemini-cli, qwen-code, opencode or pi
  --upstream <p>=<url>  where requests for a provider go; repeatable
  --port <n>            where to listen (default: a free one)
  --store <place>       a folder, or a postgres:// address (default:
                        $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --policy <policy>     what to mask: break-even (default), never, …
  --prices <list>       anthropic-5m, anthropic-1h, gpt-5, … (default: by
                        request)
  --price-file <file>   own prices of models in dollars: JSON or YAML
  --max-tokens <n>      above this size, results are masked whatever that costs
  --bound-thinking <w>  opt-in drops signed thinking after a mask; keep masks
                        nothing before signed thinking
  --holdout <share>     10%: this share of new sessions is not masked, to
                        compare
  --shadow              decides and measures, but sends every request unchanged
  --config <file>       the palimpsest.yaml to read; no other file is read
  --quiet               no receipt at the end
  -h, --help

Exit codes: that of the command; 128 and the number of the signal that ended
it; 127 if there is no such command, 1 if the gateway could not start (then
the command is not started), 2 wrong usage.
Example: palimpsest run -- claude
`;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const end = args.indexOf('--');
  const [own, [command, ...rest]] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const { values, positionals } = parseOptions(own, gatewayOptions);
  if (positionals.length > 0 || command === undefined)
    throw new UsageError('expected a command behind --: palimpsest run -- claude');
  return runAgent({ flags: values, command, args: rest }, io);
}
