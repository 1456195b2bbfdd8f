import { copilotLogs } from '../../../test/support/logs/copilot.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('copilot', copilotLogs());
