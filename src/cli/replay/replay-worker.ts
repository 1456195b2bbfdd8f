import { parentPort, workerData } from 'node:worker_threads';
import { replayFile } from '../../lab/replay-file.ts';
import { type ReplayRequest, settingOf } from './replay-request.ts';

const setting = settingOf(workerData as ReplayRequest);

parentPort?.on('message', async (file: string) => {
  parentPort?.postMessage(await replayFile(file, setting));
});
