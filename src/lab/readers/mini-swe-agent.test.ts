import { miniLogs } from '../../../test/support/logs/mini-swe-agent.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('mini-swe-agent', miniLogs());
