const DEFAULT_PORT = '8787';

/** The command that prints the lines of an agent for the gateway at this address. Without its port it would start another gateway. */
export function setUpCommand(address: string): string {
  const { port } = new URL(address);
  const flag = port === '' || port === DEFAULT_PORT ? '' : ` --port ${port}`;
  return `npx palimpsest serve --for <agent>${flag}`;
}
