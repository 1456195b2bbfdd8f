type Fields = Readonly<Record<string, unknown>>;

/**
 * For `JSON.stringify`: writes a schema of a library, such as zod, as the JSON schema that is sent. The schema object itself holds
 * neither descriptions nor limits.
 */
export function withJsonSchemas(_name: string, value: unknown): unknown {
  const converter = fieldsOf(fieldsOf(value)['~standard']).jsonSchema;
  const { input } = fieldsOf(converter);
  if (typeof input !== 'function') return value;
  try {
    return input.call(converter, { target: 'draft-07' });
  } catch {
    // JSON cannot express the schema, such as one of dates: its fields are counted.
    return value;
  }
}

/** Some libraries have functions as schemas. */
const fieldsOf = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null) || typeof value === 'function' ? (value as Fields) : {};
