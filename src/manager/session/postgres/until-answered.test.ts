import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { withConnection } from '../../../store/postgres/connection.ts';
import { answerOf } from './until-answered.ts';

/** How often a pool is asked before the error is told. */
async function attemptsOn(pool: Pool): Promise<number> {
  let attempts = 0;
  const attempt = (): Promise<unknown> => {
    attempts += 1;
    return withConnection({ connect: pool.connect.bind(pool) }, (query) => query('SELECT 1'));
  };
  await expect(answerOf(attempt, { timeoutMs: 300, waitsForServer: true })).rejects.toMatchObject({
    code: 'STORE_FAILED',
  });
  return attempts;
}

/** A pool for a server that answers the first message and ends the connection. */
async function poolAt(answer: string | undefined, query = ''): Promise<Pool> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answer ?? ''));
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new Pool({ connectionString: `postgres://me@127.0.0.1:${port}/database${query}` });
}

describe('untilAnswered', () => {
  it('asks again where the connection was cut', async () => {
    expect(await attemptsOn(await poolAt(undefined))).toBeGreaterThan(1);
  });

  it('asks once where the server speaks no TLS: to ask for the whole time limit helps nothing', async () => {
    expect(await attemptsOn(await poolAt('N', '?sslmode=verify-full'))).toBe(1);
  });

  it('asks once where the pool was ended', async () => {
    const pool = await poolAt(undefined);
    await pool.end();
    expect(await attemptsOn(pool)).toBe(1);
  });

  it('asks once where the certificate is refused', async () => {
    const refused = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    let attempts = 0;
    const attempt = async (): Promise<never> => {
      attempts += 1;
      throw refused;
    };
    await expect(answerOf(attempt, { timeoutMs: 300, waitsForServer: true })).rejects.toBe(refused);
    expect(attempts).toBe(1);
  });
});
