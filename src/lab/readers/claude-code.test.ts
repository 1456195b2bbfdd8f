import { claudeLogs } from '../../../test/support/logs/claude-code.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('claude-code', claudeLogs());
