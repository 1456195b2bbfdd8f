import { type Io, UsageError } from '../io.ts';
import { parseOptions } from '../parse-options.ts';
import { serve } from './serve.ts';
import { withEnvironment } from './serve-environment.ts';
import { serveOptions } from './serve-options.ts';

export const help = `palimpsest serve: a gateway that keeps any agent's context small.

Usage: palimpsest serve [options]

Point an agent's base URL at it. The gateway masks old tool results where that
saves money, keeps them for recall, and shows what it does on a page.

Options:
  --for <agent>         print the lines that set up this agent: claude-code,
                        codex, gemini-cli, qwen-code, opencode or pi
  --upstream <p>=<url>  where requests for a provider go (default: its official
                        address); repeatable. Providers: anthropic, openai,
                        gemini, ollama, vertex, azure, chatgpt, codeassist,
                        openrouter, groq, together, deepseek, mistral, xai,
                        moonshot, vllm, lmstudio
  --port <n>            where to listen (default: 8787; 0 picks a free one)
  --host <address>      default: 127.0.0.1; others need a token in every request
  --allow-host <name>   a host name that requests may use; repeatable
  --allow-origin <o>    a web page that may use it: https://app.example;
                        repeatable
  --store <place>       a folder, or a postgres:// address (default:
                        $PALIMPSEST_STORE, else ~/.palimpsest/store)
  --policy <policy>     what to mask: break-even (default), never, …
  --prices <list>       anthropic-5m, anthropic-1h, gpt-5, … (default: by
                        request); your own:
                        mine:read=0.1,write=1.25,look-back-blocks=20
  --price-file <file>   own prices of models in dollars, and subscriptions: JSON
                        or YAML (default: list prices; docs/money.md)
  --max-tokens <n>      above this size, results are masked whatever that costs
  --bound-thinking <w>  opt-in drops signed thinking after a mask; keep masks
                        nothing before signed thinking
  --holdout <share>     10%: this share of new sessions is not masked, to
                        compare
  --shadow              decides and measures, but sends every request unchanged
  --workers <n>         processes that share the port; auto: one for each core
  --max-age-days <n>    removes data that was last used before that
  --max-bytes <size>    10GB: above this size, removes what was used longest ago
  --whole-store         each store has one user: agents may list and search all
                        of it at /_palimpsest/mcp (default: only what was sent
                        with their key)
  --grace-ms <n>        how long open requests may take after SIGTERM (default:
                        30000)
  --drain-ms <n>        how long it keeps serving after SIGTERM while /readyz is
                        503, so that balancers can react (default: 0)
  --config <file>       the palimpsest.yaml to read; no other file is read
  --demo                shows a recorded conversation, without any key
  --quiet               no log lines
  -h, --help

Each option is also a variable: --allow-host is $PALIMPSEST_ALLOW_HOST, with
commas for several values. The command line comes first, then variables, then
files. $PALIMPSEST_TOKEN, if set, is the token of the page and its API;
otherwise one is created in ~/.palimpsest/token.

Exit codes: 0 stopped, 1 failed, 2 wrong usage.
Example: palimpsest serve --upstream azure=https://NAME.openai.azure.com
`;

export async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = parseOptions(args, serveOptions);
  if (positionals.length > 0) throw new UsageError(`expected options only but found '${positionals[0]}'`);
  await serve(withEnvironment(values, serveOptions, io), io);
  return 0;
}
