import { expect, it } from 'vitest';
import { openhandsLogs } from '../../../test/support/logs/openhands.ts';
import { contextsOf, describeReader } from '../../../test/support/logs/reader-suite.ts';
import { lines } from '../../../test/support/logs/sample-log.ts';

describeReader('openhands', openhandsLogs());

it('takes no single event of the SDK for a run', async () => {
  const event = { id: 'a', kind: 'ActionEvent', source: 'agent', tool_name: 'terminal', tool_call_id: 'c1' };
  await expect(contextsOf(lines(event))).rejects.toMatchObject({ code: 'BAD_INPUT' });
});
