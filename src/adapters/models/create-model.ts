import type { Dialect } from '../../manager/dialect.ts';
import type { Model } from '../../manager/model.ts';
import { badOption } from '../../options.ts';

/** A function that knows its dialect and the model it asks. */
export function createModel<M>(
  dialect: Dialect<M>,
  model: string,
  ask: (...request: Parameters<Model<M>>) => ReturnType<Model<M>>,
): Model<M> {
  if (typeof model !== 'string' || model === '') throw badOption('the option model', 'the name of a model', model);
  return Object.assign(ask, { dialect, model });
}
