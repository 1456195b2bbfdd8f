import { messageLogs } from '../../../test/support/logs/messages.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('messages', messageLogs());
