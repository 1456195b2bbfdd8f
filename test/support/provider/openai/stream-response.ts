import { asText, type Fields, fieldsOf } from '../json.ts';
import { pieces, type StreamEvent } from '../sse.ts';

/** The events of a response, in the order and the shape of the real API. */
export function streamResponse(response: Fields, output: readonly Fields[]): StreamEvent[] {
  const unfinished = { ...response, status: 'in_progress', output: [], usage: null };
  const bodies = [
    { type: 'response.created', response: unfinished },
    { type: 'response.in_progress', response: unfinished },
    ...output.flatMap((item, index) => itemEvents(item, index)),
    { type: 'response.completed', response },
  ];
  return bodies.map((body, sequence_number) => ({ event: body.type, data: { ...body, sequence_number } }));
}

interface EventBody {
  readonly type: string;
  readonly [field: string]: unknown;
}

function itemEvents(item: Fields, output_index: number): EventBody[] {
  const { started, events } = SHAPES[asText(item.type)]?.(item, { item_id: item.id, output_index }) ?? {
    started: item,
    events: [],
  };
  return [
    { type: 'response.output_item.added', output_index, item: started },
    ...events,
    { type: 'response.output_item.done', output_index, item },
  ];
}

interface ItemShape {
  readonly started: Fields;
  readonly events: readonly EventBody[];
}

interface ItemPlace {
  readonly item_id: unknown;
  readonly output_index: number;
}

const SHAPES: Readonly<Record<string, (item: Fields, place: ItemPlace) => ItemShape>> = {
  message(item, place) {
    const [part] = fieldsOf(item.content);
    const at = { ...place, content_index: 0 };
    const text = asText(part?.text);
    return {
      started: { ...item, status: 'in_progress', content: [] },
      events: [
        { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
        ...pieces(text).map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
        { type: 'response.output_text.done', ...at, text, logprobs: [] },
        { type: 'response.content_part.done', ...at, part },
      ],
    };
  },
  function_call(item, place) {
    const json = asText(item.arguments);
    return {
      started: { ...item, status: 'in_progress', arguments: '' },
      events: [
        ...pieces(json).map((delta) => ({ type: 'response.function_call_arguments.delta', ...place, delta })),
        { type: 'response.function_call_arguments.done', ...place, arguments: json, name: item.name },
      ],
    };
  },
  reasoning(item, place) {
    const [part] = fieldsOf(item.summary);
    const at = { ...place, summary_index: 0 };
    const text = asText(part?.text);
    return {
      started: { ...item, summary: [] },
      events: [
        { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
        ...pieces(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
        { type: 'response.reasoning_summary_text.done', ...at, text },
        { type: 'response.reasoning_summary_part.done', ...at, part },
      ],
    };
  },
};
