type Fields = Readonly<Record<string, unknown>>;

/**
 * For `JSON.stringify`: writes a schema of a library, such as zod, as the JSON schema that is sent. The fields of its
 * object hold neither descriptions nor limits.
 */
export function withJsonSchemas(_name: string, value: unknown): unknown {
  const converter = fieldsOf(fieldsOf(value)['~standard']).jsonSchema;
  const { input } = fieldsOf(converter);
  if (typeof input !== 'function') return value;
  try {
    return input.call(converter, { target: 'draft-07' });
  } catch {
    // A schema that JSON cannot express, such as one of dates: as large as its fields.
    return value;
  }
}

/** Some libraries have functions as schemas. */
const fieldsOf = (value: unknown): Fields =>
  (typeof value === 'object' && value !== null) || typeof value === 'function' ? (value as Fields) : {};
