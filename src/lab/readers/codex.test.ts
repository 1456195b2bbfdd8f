import { codexLogs } from '../../../test/support/logs/codex.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('codex', codexLogs());
