import { geminiLogs } from '../../../test/support/logs/gemini-cli.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('gemini-cli', geminiLogs());
