import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { SessionPlaceOptions } from '../../../src/manager/index.ts';
import type { SessionConformanceOptions } from '../../../src/testing/index.ts';

/** Sessions in folders. */
export function diskSessions(newFolder: () => string): SessionConformanceOptions {
  const folderOf = ({ directory = '' }: SessionPlaceOptions, id: string): string => join(directory, id);
  return {
    name: 'on disk',
    newPlace: async () => ({ directory: newFolder() }),
    abandon: async (place, id) => {
      const folder = folderOf(place, id);
      for (const name of readdirSync(folder)) if (name.startsWith('lock')) rmSync(join(folder, name), { force: true });
    },
    removeSnapshot: async (place, id) => rmSync(join(folderOf(place, id), 'state.yaml'), { force: true }),
    setWritten: async (place, id, at) => utimesSync(join(folderOf(place, id), 'events.jsonl'), at, at),
    damageEvent: async (place, id, seq) => {
      const path = join(folderOf(place, id), 'events.jsonl');
      const lines = readFileSync(path, 'utf8').split('\n');
      const changed = lines.map((line) =>
        line.includes(`,"seq":${seq},`) ? line.replace('"type":"m', '"type":"M') : line,
      );
      writeFileSync(path, changed.join('\n'));
    },
  };
}

export interface DatabasePlaces {
  readonly name: string;
  /** Rows are changed through this pool. */
  readonly pool: () => Pool;
  readonly schema: string;
  /** The option `database` of sessions of a tenant. */
  readonly database: (tenant: string) => Exclude<SessionPlaceOptions['database'], undefined>;
}

/** Sessions in PostgreSQL: each place is a tenant of its own. */
export function databaseSessions({ name, pool, schema, database }: DatabasePlaces): SessionConformanceOptions {
  let tenants = 0;
  const update = async ({ database }: SessionPlaceOptions, table: string, change: string, ...values: unknown[]) => {
    const { tenant } = database as { tenant: string };
    await pool().query(`UPDATE "${schema}".${table} SET ${change} AND tenant = $1`, [tenant, ...values]);
  };
  return {
    name,
    newPlace: async () => ({ database: database(`tenant-${process.pid}-${tenants++}`) }),
    abandon: (place, id) => update(place, 'sessions', `leased_until = '-infinity' WHERE id = $2`, id),
    removeSnapshot: (place, id) => update(place, 'sessions', 'snapshot = NULL WHERE id = $2', id),
    setWritten: (place, id, at) => update(place, 'sessions', 'written_at = $3 WHERE id = $2', id, at),
    damageEvent: (place, id, seq) =>
      update(
        place,
        'session_events',
        'line = set_byte(line, length(line) / 2, get_byte(line, length(line) / 2) # 4) WHERE session = $2 AND seq = $3',
        id,
        seq,
      ),
  };
}
