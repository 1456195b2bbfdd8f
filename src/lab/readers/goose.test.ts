import { gooseLogs } from '../../../test/support/logs/goose.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('goose', gooseLogs());
