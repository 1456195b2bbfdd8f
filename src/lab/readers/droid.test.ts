import { droidLogs } from '../../../test/support/logs/droid.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('droid', droidLogs());
