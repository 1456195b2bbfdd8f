import { UsageError } from '../io.ts';
import { hintFor } from '../parse-options.ts';
import { type Agent, agents } from './agents.ts';

/** The agent of this name. For a misspelt name, or the command of an agent, the error suggests the right one. */
export function findAgent(name: string): Agent {
  const found = agents.find((agent) => agent.name === name);
  if (found) return found;
  const names = agents.map((agent) => agent.name);
  const started = agents.find(({ command }) => command === name);
  const near = started ? `; did you mean ${started.name}?` : hintFor(name, names);
  throw new UsageError(`expected --for to be ${names.join(', ')} but found '${name}'${near}`);
}
