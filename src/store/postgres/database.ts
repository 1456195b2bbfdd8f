import { closedError } from '../check-input.ts';
import { ask, patient, type Row, withConnection } from './connection.ts';
import { migrate } from './migrate.ts';
import type { Place } from './place.ts';

/** The tables of a store. They are created at the first call, and no call is answered after `close`. */
export class Database {
  readonly #place: Place;
  #migrated: Promise<void> | undefined;
  #isClosed = false;

  constructor(place: Place) {
    this.#place = place;
  }

  async ready(): Promise<Place> {
    if (this.#isClosed) throw closedError();
    this.#migrated ??= migrate(this.#place.pool, this.#place.schema).catch((error) => {
      // The next call tries again: the server may have been starting.
      this.#migrated = undefined;
      throw error;
    });
    await this.#migrated;
    return this.#place;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** A prepared statement; the tenant is its first value. */
  async ask(statement: keyof Place['statements'], ...values: unknown[]): Promise<readonly Row[]> {
    const { pool, tenant, statements } = await this.ready();
    return ask(pool, statements[statement], tenant, ...values);
  }

  /** One statement outside a transaction; the tenant is its first value. */
  async query(statement: (schema: string) => string, ...values: unknown[]): Promise<readonly Row[]> {
    const { pool, schema, tenant } = await this.ready();
    return withConnection(pool, async (query) => (await query(statement(schema), tenant, ...values)).rows);
  }

  /** Like `query`, for a statement that reads every row. */
  async scan(statement: (schema: string) => string): Promise<readonly Row[]> {
    const { pool, schema, tenant } = await this.ready();
    return withConnection(patient(pool), async (query) => (await query(statement(schema), tenant)).rows);
  }

  async vacuum(): Promise<void> {
    const { pool, schema } = this.#place;
    const tables = ['texts', 'refs', 'turns', 'notes', 'uses', 'records'].map((table) => `"${schema}".${table}`);
    await withConnection(patient(pool), (query) => query(`VACUUM ${tables.join(', ')}`));
  }
}
