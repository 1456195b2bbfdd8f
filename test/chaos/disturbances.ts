import { setTimeout as sleep } from 'node:timers/promises';
import { attacks } from './hostile.ts';
import type { Random } from './random.ts';
import { kill } from './supervisor.ts';
import type { Kind, World } from './world.ts';

/** Something that goes wrong. When it resolves, it is over. */
interface Disturbance {
  readonly name: string;
  /** Whether the round has what it needs. */
  readonly isPossible?: (world: World) => boolean;
  run(world: World, options: DisturbanceOptions): Promise<void>;
}

export interface DisturbanceOptions {
  readonly random: Random;
  readonly largestBytes: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

export const disturbances: Readonly<Record<Kind, readonly Disturbance[]>> = {
  kills: [
    {
      name: 'kill a worker',
      run: async ({ gateway }, { random }) => {
        const [, ...workers] = gateway.pids();
        if (workers.length > 0) kill(random.pick(workers));
      },
    },
    {
      name: 'kill the gateway',
      run: async ({ gateway }) => {
        await gateway.kill();
        await gateway.up();
      },
    },
    {
      name: 'kill the upstream',
      run: async ({ upstream }) => {
        await upstream.kill();
        await upstream.up();
      },
    },
    {
      name: 'kill a process of the database',
      isPossible: ({ database }) => database !== undefined,
      run: async ({ database }, { random }) => {
        const [, ...pids] = database?.server.pids() ?? [];
        if (pids.length > 0) kill(random.pick(pids));
      },
    },
    {
      name: 'kill the database',
      isPossible: ({ database }) => database !== undefined,
      run: async ({ database }, { random }) => {
        await database?.server.kill();
        await sleep(random.between(0, 2 * SECOND));
        await database?.server.start();
      },
    },
  ],
  disk: [
    {
      name: 'fill the disk',
      isPossible: ({ disk }) => disk !== undefined,
      run: async ({ disk }, { random }) => {
        disk?.fill();
        await sleep(random.between(SECOND, 8 * SECOND));
        disk?.free();
      },
    },
    {
      name: 'kill the gateway while the disk is full',
      isPossible: ({ disk }) => disk !== undefined,
      run: async ({ disk, gateway }, { random }) => {
        disk?.fill();
        await sleep(SECOND);
        await gateway.kill();
        await sleep(random.between(SECOND, 4 * SECOND));
        disk?.free();
        await gateway.up();
      },
    },
  ],
  upstream: [
    { name: 'reset the upstream', run: async ({ upstreamProxy }) => upstreamProxy.cut() },
    {
      name: 'refuse at the upstream',
      run: async ({ upstreamProxy }, { random }) => {
        upstreamProxy.refuse();
        await sleep(random.between(200, 2 * SECOND));
        upstreamProxy.resume();
      },
    },
    {
      name: 'stall the upstream',
      run: async ({ upstreamProxy }, { random }) => {
        upstreamProxy.stall();
        await sleep(random.between(200, 3 * SECOND));
        upstreamProxy.resume();
      },
    },
  ],
  database: [
    {
      name: 'reset the database',
      isPossible: ({ database }) => database !== undefined,
      run: async ({ database }) => database?.proxy.cut(),
    },
    {
      name: 'refuse at the database',
      isPossible: ({ database }) => database !== undefined,
      run: async ({ database }, { random }) => {
        database?.proxy.refuse();
        await sleep(random.between(200, 2 * SECOND));
        database?.proxy.resume();
      },
    },
    {
      name: 'stall the database',
      isPossible: ({ database }) => database !== undefined,
      run: async ({ database }, { random }) => {
        database?.proxy.stall();
        await sleep(random.between(200, 3 * SECOND));
        database?.proxy.resume();
      },
    },
  ],
  clock: [
    {
      name: 'move the clock',
      run: async ({ jumpClock }, { random }) => {
        jumpClock(random.pick([0, -60, -5, -1, 1, 4, 6, 61, 1440, -1440]) * MINUTE);
      },
    },
  ],
  hostile: attacks.map(({ name, run }) => ({
    name,
    run: async ({ port, held }: World, { random, largestBytes }: DisturbanceOptions) => {
      await Promise.all([0, 1, 2].map(() => run({ port, held, random, largestBytes })));
    },
  })),
};
