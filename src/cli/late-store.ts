import { existsSync } from 'node:fs';
import { PalimpsestError } from '../errors.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';

export interface LateStore {
  readonly path: string;
  /** Whether it could be opened already. Throws where it is there and cannot be opened. */
  isThere(): Promise<boolean>;
  /** Opens it for reading, once; where it is not there yet, the next call tries again. */
  open(): Promise<Store>;
  close(): Promise<void>;
}

/** A store that someone else may only make later, when there is something to keep. */
export function createLateStore(path: string): LateStore {
  let opening: Promise<Store> | undefined;
  const open = (): Promise<Store> => {
    if (!opening && !existsSync(path)) return Promise.reject(nothingYet());
    opening ??= openStore({ path, mode: 'read' }).catch((error) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    path,
    open,
    isThere: async () => existsSync(path) && (await open()) !== undefined,
    close: async () => {
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** For a model, to which the path means nothing. */
const nothingYet = (): PalimpsestError =>
  new PalimpsestError('NOT_FOUND', 'Nothing was stored yet, so nothing can be recalled. Run the tool again instead.');
