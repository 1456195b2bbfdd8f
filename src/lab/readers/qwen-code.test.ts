import { qwenLogs } from '../../../test/support/logs/qwen-code.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('qwen-code', qwenLogs());
