import { createRequire } from 'node:module';
import { codeOf, type Log } from '../receipts/log.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';

/**
 * Spans and metrics through the package `@opentelemetry/api`, an optional peer. Undefined where it is not installed. Without an
 * SDK that is registered, the package does nothing.
 */
export function loadTelemetry(version: string, log: Log): Telemetry | undefined {
  const require = createRequire(import.meta.url);
  try {
    return createTelemetry(require('@opentelemetry/api'), version);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'MODULE_NOT_FOUND') log({ level: 'warn', message: 'OpenTelemetry could not be loaded', code });
    return undefined;
  }
}
