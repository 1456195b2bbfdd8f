import { asString, type Fields, isRecord, shallowCopy } from '../../formats/lens.ts';
import { OPT_IN } from '../../laws/bound-reasoning.ts';

/** The chat model that a request goes to, and the tools that are bound to it. */
export interface CalledModel {
  readonly model: Fields;
  readonly name: string | undefined;
  readonly tools?: readonly unknown[];
  /** Binds another chat model in the same way. */
  readonly bind: (model: Fields) => Fields;
}

/** Finds the model behind bindings. A model given by its name, such as 'openai:gpt-5', is created on the first call. */
export async function calledModel(given: unknown, configurable: unknown): Promise<CalledModel> {
  const model = fieldsOf(given);
  if (typeof model._getModelInstance === 'function')
    return calledModel(await model._getModelInstance({ configurable }), configurable);
  if (!isRecord(model.bound))
    return { model, name: asString(model.model) ?? asString(model.modelName), bind: (other) => other };
  const inner = await calledModel(model.bound, configurable);
  const { tools } = fieldsOf(model.config);
  const bind = (other: Fields): Fields => Object.assign(shallowCopy(model), { bound: inner.bind(other) });
  return { ...inner, ...(Array.isArray(tools) ? { tools } : {}), bind };
}

/**
 * Whether a copy of the model can carry the fields of `report.requires`. ChatAnthropic takes `thinking` from its own fields, not from
 * the settings of a call. Only these two types of thinking have the option.
 */
export function canRequire({ model }: CalledModel): boolean {
  const thinking = thinkingOf(model);
  const chosen = bindingOf(thinking).prefix_mismatch_behavior ?? OPT_IN.value;
  return (thinking.type === 'adaptive' || thinking.type === 'enabled') && chosen === OPT_IN.value;
}

/** Whether the requests of the model already carry them. */
export function hasRequired({ model }: CalledModel): boolean {
  const chosen = bindingOf(thinkingOf(model)).prefix_mismatch_behavior;
  return chosen === OPT_IN.value && listOf(model.betas).includes(OPT_IN.headerValue);
}

/** A copy of the model whose requests carry the required fields. */
export function withRequired({ model, bind }: CalledModel): Fields {
  const thinking = thinkingOf(model);
  const block_binding = { ...bindingOf(thinking), prefix_mismatch_behavior: OPT_IN.value };
  const required = {
    invocationKwargs: { ...fieldsOf(model.invocationKwargs), thinking: { ...thinking, block_binding } },
    betas: [...new Set([...listOf(model.betas), OPT_IN.headerValue])],
  };
  return bind(Object.assign(shallowCopy(model), required));
}

/** The thinking of ChatAnthropic's requests. `invocationKwargs` win. Models of other integrations have no such field. */
const thinkingOf = ({ invocationKwargs, thinking }: Fields): Fields =>
  isRecord(invocationKwargs) ? fieldsOf(invocationKwargs.thinking ?? thinking) : {};

const bindingOf = (thinking: Fields): Fields => fieldsOf(thinking.block_binding);

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
