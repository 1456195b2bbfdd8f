import type { Model } from '../../manager/agent/model.ts';
import type { Format } from '../../message.ts';
import { badOption } from '../../options.ts';

/** A function that knows the format of its messages and the model it asks. */
export function createModel<M>(
  format: Format<M>,
  model: string,
  ask: (...request: Parameters<Model<M>>) => ReturnType<Model<M>>,
): Model<M> {
  if (typeof model !== 'string' || model === '') throw badOption('the option model', 'the name of a model', model);
  return Object.assign(ask, { format, model });
}
