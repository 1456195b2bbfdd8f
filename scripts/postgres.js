// Writes the indexes, statements and plans of docs/postgres.md. Needs dist/: npm run build first. --check only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { Pool } from 'pg';
import { startPostgres } from '../bench/postgres-server.js';
import { removals } from '../dist/store/postgres/retention.js';
import { statementsOf } from '../dist/store/postgres/statements.js';
import { createPostgresStore } from '../dist/store/postgres-store.js';

const FILE = 'docs/postgres.md';
const MARKS = /(<!-- made by: node scripts\/postgres.js -->\n)[\s\S]*?(<!-- end -->)/;
/** Of each, to one session in ten. Enough for PostgreSQL to prefer an index where there is one. */
const ROWS = 20_000;

// Plans differ between versions: always the server that comes with npm ci.
delete process.env.PALIMPSEST_POSTGRES_URL;
const server = await startPostgres();
const pool = new Pool({ connectionString: server.url, max: 1 });
try {
  const page = readFileSync(FILE, 'utf8');
  const written = await describeStore();
  const made = page.replace(MARKS, (_, begin, end) => `${begin}\n${written}\n\n${end}`);
  if (!process.argv.includes('--check')) writeFileSync(FILE, made);
  else if (page !== made) {
    console.error(`${FILE} is not what the statements of src/store/postgres/ say. Run: node scripts/postgres.js`);
    process.exitCode = 1;
  }
} finally {
  await pool.end();
  await server.stop();
}

async function describeStore() {
  await createPostgresStore({ pool }).stats();
  await fill();
  const { rows: indexes } = await pool.query(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = 'palimpsest' ORDER BY tablename, indexname`,
  );
  await pool.query('SET plan_cache_mode = force_generic_plan; SET jit = off');
  const statements = Object.entries(statementsOf({ timeoutMs: 30_000 }, 'palimpsest')).map(([name, { text }]) => [
    `\`${name}\``,
    text,
  ]);
  const deletions = Object.entries(removals('palimpsest')).map(([name, text]) => [`Removal of ${name}`, text]);
  const parts = [];
  for (const [name, text] of [...statements, ...deletions]) parts.push(await describeStatement(name, text));
  return [
    '### Indexes',
    `\`\`\`sql\n${indexes.map(({ indexdef }) => indexdef.replace(' USING btree', '')).join('\n')}\n\`\`\``,
    '### Statements and plans',
    ...parts,
  ].join('\n\n');
}

async function fill() {
  const session = `'s' || i % ${ROWS / 10}`;
  const series = `FROM generate_series(1, ${ROWS}) AS i`;
  await pool.query(`
    INSERT INTO palimpsest.texts (tenant, handle, seq, digest, bytes, body)
      SELECT 'default', 'p_' || md5(i::text), i, sha256(i::text::bytea), 2000, repeat(md5(i::text), 60)::bytea ${series};
    INSERT INTO palimpsest.refs (tenant, handle, key, seq, session, turn, tool)
      SELECT 'default', 'p_' || md5(i::text), '\\x00', i, ${session}, i, '' ${series};
    INSERT INTO palimpsest.turns (tenant, session, turn, body) SELECT 'default', ${session}, i, '{}' ${series};
    INSERT INTO palimpsest.notes (tenant, session, name, digest, body) SELECT 'default', ${session}, i, '', '' ${series};
    INSERT INTO palimpsest.uses (tenant, session, at) SELECT 'default', 's' || i, now() ${series};
    INSERT INTO palimpsest.records (tenant, at, id, session, conversation, body)
      SELECT 'default', i, i, ${session}, '', '{}' ${series}`);
  await pool.query('VACUUM ANALYZE');
}

async function describeStatement(name, text) {
  const statement = text.replace(/\n\s+/g, '\n  ');
  await pool.query(`PREPARE described AS ${text}`);
  const { rows } = await pool.query(
    `SELECT cardinality(parameter_types) AS values FROM pg_prepared_statements WHERE name = 'described'`,
  );
  const values = Array.from({ length: rows[0].values }, () => 'NULL').join(', ');
  const plan = await pool.query(`EXPLAIN (COSTS OFF) EXECUTE described(${values})`);
  await pool.query('DEALLOCATE described');
  const lines = plan.rows.map((row) => row['QUERY PLAN']);
  return `**${name}**\n\n\`\`\`sql\n${statement}\n\`\`\`\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}
