import { piLogs } from '../../../test/support/logs/pi.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('pi', piLogs());
