import { asList, asString, type Fields } from '../../formats/lens.ts';

/** The parts of an agent that count in a request. */
export interface AgentParts {
  readonly name: string;
  readonly model?: unknown;
  readonly tools?: readonly unknown[];
  readonly handoffs?: readonly unknown[];
}

/** The tools of an agent as they are sent, and its handoffs, which are sent as tools. */
export function toolsOf({ tools, handoffs }: AgentParts): readonly Fields[] {
  return [...asList(tools).map(toTool), ...asList(handoffs).map(toHandoffTool)];
}

function toTool({ type, name, description, parameters, providerData }: Fields): Fields {
  return { type, name, description, parameters, providerData };
}

/** A handoff, or an agent, for which the SDK creates a handoff. */
function toHandoffTool({ toolName, toolDescription, inputJsonSchema, name, handoffDescription }: Fields): Fields {
  if (toolName !== undefined)
    return { type: 'function', name: toolName, description: toolDescription, parameters: inputJsonSchema };
  return {
    type: 'function',
    name: `transfer_to_${asString(name)}`,
    description: `Handoff to the ${asString(name)} agent to handle the request. ${asString(handoffDescription) ?? ''}`,
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  };
}
