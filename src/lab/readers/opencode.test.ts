import { opencodeLogs } from '../../../test/support/logs/opencode.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('opencode', opencodeLogs());
