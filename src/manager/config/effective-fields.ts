import { isRecord } from '../../formats/lens.ts';
import { policyOf } from './config-options.ts';
import { type Config, configJsonSchema } from './config-schema.ts';

/** A field as it applies: what the file says, or the default. */
export interface EffectiveField {
  /** `session.context.max_history_tokens` */
  readonly field: string;
  readonly value: unknown;
  readonly from: 'file' | 'default';
}

interface Property {
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Property>>;
}

const KEEP: Readonly<Record<string, number>> = {
  'session.context.tool_result_keep_first': 2,
  'session.context.tool_result_keep_last': 5,
};

/** Every field that has a value, in the order of the schema. Tokens and passwords are hidden. */
export function effectiveFields(config: Config): EffectiveField[] {
  const name = policyOf(config)?.name ?? 'break-even';
  const isFirstAndLast = name === 'first-and-last';
  const chosen = isFirstAndLast ? { ...config, policy: { ...config.policy, name } } : config;
  return fieldsIn(configJsonSchema() as Property, chosen, '').flatMap(({ field, value, from }): EffectiveField[] => {
    // Other policies have other windows, or none.
    if (field === 'policy.window' && from === 'default' && name !== 'break-even') return [];
    const known = value ?? (isFirstAndLast ? KEEP[field] : undefined);
    return known === undefined ? [] : [{ field, value: withoutSecrets(field, known), from }];
  });
}

function fieldsIn(schema: Property, value: unknown, path: string): EffectiveField[] {
  const { properties, default: byDefault } = schema;
  if (!properties) return [{ field: path, value: value ?? byDefault, from: value === undefined ? 'default' : 'file' }];
  const given = isRecord(value) ? value : {};
  // The options of a policy are not in the schema.
  const names = new Set([...Object.keys(properties), ...Object.keys(given)]);
  return [...names].flatMap((name) =>
    fieldsIn(properties[name] ?? {}, given[name], path === '' ? name : `${path}.${name}`),
  );
}

const HIDDEN = '(hidden)';

function withoutSecrets(field: string, value: unknown): unknown {
  if (field === 'gateway.tokens' && isRecord(value))
    return Object.fromEntries(Object.keys(value).map((tenant) => [tenant, HIDDEN]));
  return typeof value === 'string' ? value.replace(/(?<=:\/\/[^/\s]*?:)[^/\s]*(?=@)/, HIDDEN) : value;
}
