import { asList, asString, toText } from '../../formats/lens.ts';
import type { Fields } from './json-values.ts';
import { type LogReader, textOf } from './log-reader.ts';
import { contextOf, modelOf } from './messages.ts';
import type { Draft } from './transcript.ts';
import { fieldsOf } from './usage.ts';

/** Results of tau-bench, a list of runs, and of tau2-bench, an object with a list of them. */
export const tauBench: LogReader = {
  format: 'tau-bench',
  matches: (record) => Array.isArray(record.traj) || isResults(record),
  async *read(records) {
    let run = 0;
    for await (const record of records) {
      const { traj, simulations } = record;
      if (Array.isArray(traj)) yield* contextOf(traj, { run: run++ });
      else for (const { messages } of asList(simulations)) yield* simulated(asList(messages), record, run++);
    }
  },
};

const isResults = ({ simulations, info }: Fields): boolean =>
  asList(simulations).some(({ messages }) => Array.isArray(messages)) && fieldsOf(info).agent_info !== undefined;

function simulated(messages: readonly Fields[], { info }: Fields, run: number): Draft[] {
  const { agent_info, environment_info } = fieldsOf(info);
  const system = textOf(fieldsOf(environment_info).policy);
  const model = asString(fieldsOf(agent_info).llm);
  return contextOf(messages.flatMap(messagesIn).filter(isForAgent).map(toChat), { run, system, model });
}

/** Results of calls that were made at once can be in one message. */
const messagesIn = (message: Fields): readonly Fields[] =>
  Array.isArray(message.tool_messages) ? asList(message.tool_messages) : [message];

/** The simulated user has tools of its own. The agent sees neither their calls nor their results. */
const isForAgent = ({ role, requestor, tool_calls }: Fields): boolean =>
  requestor !== 'user' && !(role === 'user' && asList(tool_calls).length > 0);

/** Calls are flat, and a result has the id of its call. */
function toChat({ id, role, content, tool_calls, ...about }: Fields): Fields {
  const { timestamp, usage, raw_data } = about;
  const facts = { timestamp, usage, model: modelOf(fieldsOf(raw_data)) };
  if (role === 'tool') return { role, tool_call_id: id, content: textOf(content), timestamp };
  if (role !== 'assistant') return { role, content: textOf(content), timestamp };
  const calls = asList(tool_calls).map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: toText(call.arguments) },
  }));
  return { role, content: textOf(content), ...(calls.length > 0 ? { tool_calls: calls } : {}), ...facts };
}
