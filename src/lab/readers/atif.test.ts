import { atifLogs } from '../../../test/support/logs/atif.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('atif', atifLogs());
