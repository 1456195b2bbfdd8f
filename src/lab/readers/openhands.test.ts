import { openhandsLogs } from '../../../test/support/logs/openhands.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('openhands', openhandsLogs());
