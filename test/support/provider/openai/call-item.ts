import { asText, type Fields, fieldsOf } from '../json.ts';
import { type Ask, type Call, idOf } from '../script.ts';

/** A call of a tool as an item, in the shape that the tool was declared with. */
export function callItem({ id, name, input }: Call, ask: Ask, index: number): Fields {
  const tool = declaredTools(ask.body).find((declared) => (declared.name ?? declared.type) === name);
  const common = { status: 'completed', call_id: id ?? idOf('call_', ask, index) };
  if (tool?.type === 'tool_search')
    return { id: idOf('tsc_', ask, index), type: 'tool_search_call', ...common, execution: 'client', arguments: input };
  const named = { ...common, name, ...(tool?.namespace === undefined ? {} : { namespace: tool.namespace }) };
  if (tool?.type === 'custom')
    return { id: idOf('ctc_', ask, index), type: 'custom_tool_call', ...named, input: asText(input.input) };
  return { id: idOf('fc_', ask, index), type: 'function_call', ...named, arguments: JSON.stringify(input) };
}

/** The tools of the request itself, those that a search of the client found, and those of items that add some. */
function declaredTools({ tools, input }: Fields): Fields[] {
  const lists = [tools, ...fieldsOf(input).map((item) => item.tools)];
  return lists.flatMap((list) => fieldsOf(list)).flatMap((tool) => [tool, ...toolsOfNamespace(tool)]);
}

const toolsOfNamespace = ({ name, tools }: Fields): Fields[] =>
  fieldsOf(tools).map((tool) => ({ ...tool, namespace: name }));
