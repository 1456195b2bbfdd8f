import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATH = '/usr/bin/chromium';
const ARGUMENTS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** True where there is no browser to test with; where all must be tested, that is a failure. */
export const isAbsent = !existsSync(PATH) && !process.env.CI && !process.env.PALIMPSEST_CI;

/** For the name of what is skipped. */
export const REASON = isAbsent ? ` (skipped: ${PATH} is not installed)` : '';

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: PATH, args: ARGUMENTS.split(' ') });
