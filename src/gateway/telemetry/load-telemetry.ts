import { createRequire } from 'node:module';
import { codeOf, type Log } from '../receipts/log.ts';
import { createTelemetry, type Telemetry } from './telemetry.ts';

/**
 * Spans and metrics through the package `@opentelemetry/api`, an optional peer. Undefined if it is not installed. Without a registered
 * SDK the package does nothing.
 */
export function loadTelemetry(version: string, log: Log): Telemetry | undefined {
  const require = createRequire(import.meta.url);
  try {
    return withoutErrors(createTelemetry(require('@opentelemetry/api'), version), log);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'MODULE_NOT_FOUND') log({ level: 'warn', message: 'OpenTelemetry could not be loaded', code });
    return undefined;
  }
}

/** A custom sampler or span processor may throw. The request then continues without its span. */
function withoutErrors(telemetry: Telemetry, log: Log): Telemetry {
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      log({ level: 'warn', message: 'OpenTelemetry failed', code: codeOf(error) });
      return undefined;
    }
  };
  return {
    begin: (asked, options) => {
      const span = attempt(() => telemetry.begin(asked, options));
      return span && { ...span, end: (answered) => attempt(() => span.end(answered)) };
    },
  };
}
