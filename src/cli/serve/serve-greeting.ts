import { connect } from 'node:net';
import { setUpCommand } from '../../gateway/page/set-up-command.ts';
import type { Agent, GatewayAddress, Step } from '../agents/agents.ts';
import type { Io } from '../io.ts';
import { DEFAULT_TENANT } from '../store/stores.ts';

/** The facts that the text after the start shows. */
export interface Greeting {
  readonly url: string;
  /** The token of the page. Undefined if the page cannot be opened. */
  readonly token: string | undefined;
  readonly isPublic: boolean;
  readonly store: string;
  /** Options with which other commands find the store. Empty if they find it without any. */
  readonly storeOption: string;
  readonly tenant: string;
  /** The share of new sessions that is held out, 0 to 1. */
  readonly holdout: number;
  readonly isShadow: boolean;
  /** The agent whose lines are shown. */
  readonly agent?: Agent | undefined;
}

/** The commands to type next. */
export function greet(greeting: Greeting): string {
  const { url, token, isPublic, storeOption, tenant, agent } = greeting;
  const whose = `${storeOption}${tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`}`;
  // Other machines may mean other users, who must not list each other's conversations.
  const caller = isPublic ? '--credential-env ANTHROPIC_API_KEY' : '--whole-store';
  const shown = isPublic ? 'TOKEN' : (token ?? '');
  return `listening on ${url}

${agent ? showSteps(agent.steps(addressFor({ url, isPublic, token: shown }))) : addresses(greeting)}
${isPublic ? '(TOKEN is the one in the link below, or that of a tenant)\n\n' : ''}Watch what it does:
  ${url}/_palimpsest/#token=${token ?? ''}

${showMasking(greeting, { whose, caller })}Ctrl-C stops it once all open requests are answered.
`;
}

/** Where masked texts are, or why there are none. */
function showMasking(
  { store, agent, holdout, isShadow }: Greeting,
  { whose, caller }: { readonly whose: string; readonly caller: string },
): string {
  const report = `  ${`npx palimpsest report${whose}`.padEnd(40)} # what masking saves\n`;
  if (isShadow) return `Shadow: every request is sent unchanged, and no text is kept.\n${report}`;
  const share = `${Number((100 * holdout).toPrecision(3))} %`;
  const heldOut = holdout > 0 ? `${share} of new sessions are held out: sent unchanged, to compare.\n${report}` : '';
  return `Masked texts are kept in ${store}
  ${`npx palimpsest recall <handle>${whose}`.padEnd(40)} # read it again
${agent ? '' : `  ${`npx palimpsest mcp ${caller}${whose}`.padEnd(40)} # let the agent do so\n`}${heldOut}`;
}

/** The addresses as variables, for any client. */
function addresses({ url, isPublic }: Greeting): string {
  const base = isPublic ? `${url}/as/TOKEN` : url;
  return `Point your agent here, in its own terminal:
  export ANTHROPIC_BASE_URL=${base}        # Claude Code, Anthropic's SDKs
  export OPENAI_BASE_URL=${base}/v1        # Qwen Code, OpenAI's SDKs
  export GOOGLE_GEMINI_BASE_URL=${base}    # Google's SDKs
Codex, Gemini CLI, OpenCode, pi, and recall in all of them: ${setUpCommand(url)}
`;
}

/** The addresses of a gateway for an agent. */
export function addressFor(gateway: {
  readonly url: string;
  readonly isPublic: boolean;
  readonly token: string;
}): GatewayAddress {
  const { url, isPublic, token } = gateway;
  return { base: isPublic ? `${url}/as/${token}` : url, mcp: `${url}/_palimpsest/mcp`, token };
}

/** Each step with its title and its lines. */
export const showSteps = (steps: readonly Step[]): string =>
  steps.map(({ about, lines }) => `${about}:\n${lines.replace(/^(?=.)/gm, '  ')}\n`).join('\n');

/** The text after the start of the demo. */
export function greetDemo(url: string, token: string): string {
  return `listening on ${url}

A conversation is played through this gateway, against an upstream that is
made up: no key is needed, nothing leaves this machine, nothing is kept.

Watch it:
  ${url}/_palimpsest/#token=${token}

Ctrl-C stops it.
`;
}

/** Warns at the start about an upstream that does not answer, before the first request fails. */
export async function warnOfMissing(upstreams: Readonly<Record<string, string>>, io: Io): Promise<void> {
  await Promise.all(
    Object.entries(upstreams).map(async ([provider, address]) => {
      const why = await whyNot(new URL(address));
      if (why)
        io.stderr(
          `palimpsest serve: nothing answers at ${address} (${why}). Requests for ${provider} get a 502 until it does.\n`,
        );
    }),
  );
}

const MOST_WAIT_MS = 2000;

function whyNot({ hostname, port, protocol }: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(Number(port || (protocol === 'https:' ? 443 : 80)), hostname.replace(/^\[|\]$/g, ''));
    const end = (why: string | undefined): void => {
      socket.destroy();
      resolve(why);
    };
    socket.setTimeout(MOST_WAIT_MS, () => end('no answer'));
    socket.once('connect', () => end(undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'error'));
  });
}
