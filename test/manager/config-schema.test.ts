import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../src/manager/config/config-schema.ts';
import { ROOT } from '../support/modules.ts';

describe('palimpsest.schema.json', () => {
  const published = JSON.parse(readFileSync(join(ROOT, 'palimpsest.schema.json'), 'utf8'));

  it('is what the program checks (else run: npm run build && node scripts/schema.js)', () => {
    expect(published).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it('has a description of every field, for editors', () => {
    expect(undescribed(published.properties, '')).toEqual([]);
  });

  it('allows no field that is not there', () => {
    expect(published.additionalProperties).toBe(false);
    expect(published.properties.session.additionalProperties).toBe(false);
  });
});

interface Property {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Property>>;
}

function undescribed(properties: Readonly<Record<string, Property>>, path: string): string[] {
  return Object.entries(properties).flatMap(([name, { description, properties: inner }]) => {
    const place = `${path}${name}`;
    if (inner) return undescribed(inner, `${place}.`);
    return description ? [] : [place];
  });
}
