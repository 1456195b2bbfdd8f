import { setUpCommand } from '../../src/gateway/page/set-up-command.ts';
import { CopyButton } from './copy-button.tsx';
import { agentAddress } from './model.ts';

/** The commands that connect an agent. */
export function ConnectAgent({ token }: { readonly token: string }) {
  const address = agentAddress(location.href, token);
  return (
    <section class="panel welcome" aria-labelledby="welcome">
      <h2 id="welcome">No conversation yet</h2>
      <p>
        Point an agent at this gateway and start it from the same terminal. Its conversations appear here by themselves.
      </p>
      <dl>
        <dt>Claude Code, or anything that uses Anthropic’s SDK</dt>
        <Line text={`export ANTHROPIC_BASE_URL=${address}`} />
        <dt>OpenAI’s SDK, and agents that speak its API</dt>
        <Line text={`export OPENAI_BASE_URL=${address}/v1`} />
        <dt>Google’s SDKs</dt>
        <Line text={`export GOOGLE_GEMINI_BASE_URL=${address}`} />
      </dl>
      <p class="note">
        Codex, Gemini CLI, OpenCode, pi, and recall: <code>{setUpCommand(location.href)}</code> prints the lines. Keys
        stay where they are: the gateway passes them on and keeps none. To look around first, start it with{' '}
        <code>--demo</code>: it plays a conversation.
      </p>
    </section>
  );
}

function Line({ text }: { readonly text: string }) {
  return (
    <dd class="to-type">
      <code>{text}</code>
      <CopyButton text={text} />
    </dd>
  );
}
