import { describeReader } from '../../../test/support/logs/reader-suite.ts';
import { tauLogs } from '../../../test/support/logs/tau-bench.ts';

describeReader('tau-bench', tauLogs());
