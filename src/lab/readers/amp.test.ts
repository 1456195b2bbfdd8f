import { ampLogs } from '../../../test/support/logs/amp.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('amp', ampLogs());
