import { describeReader } from '../../../test/support/logs/reader-suite.ts';
import { sweAgentLogs } from '../../../test/support/logs/swe-agent.ts';

describeReader('swe-agent', sweAgentLogs());
