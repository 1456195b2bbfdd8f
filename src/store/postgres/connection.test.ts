import { describe, expect, it } from 'vitest';
import { type PostgresPool, withConnection } from './connection.ts';

/** A pool whose connections fail like this. */
const poolThat = (error: Error): PostgresPool =>
  ({ connect: (done: (error: Error) => void) => done(error) }) as unknown as PostgresPool;

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

describe('a connection that fails', () => {
  it('names every address that refused, and says what to look at', async () => {
    const each = ['::1:5432', '127.0.0.1:5432'].map((at) => coded(`connect ECONNREFUSED ${at}`, 'ECONNREFUSED'));
    const refused = Object.assign(new AggregateError(each), { code: 'ECONNREFUSED' });
    await expect(withConnection(poolThat(refused), async () => {})).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message:
        'Expected an answer from PostgreSQL but found: connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432; ' +
        'check the address of the database, and that its server runs; a write is stored whole or not at all: try it again',
    });
  });

  it('says that the next try may succeed where the server went away', async () => {
    const ended = coded('terminating connection due to administrator command', '57P01');
    await expect(withConnection(poolThat(ended), async () => {})).rejects.toThrow(
      /command; a write is stored whole or not at all: try it again$/,
    );
  });
});
