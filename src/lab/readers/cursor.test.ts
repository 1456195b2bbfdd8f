import { cursorLogs } from '../../../test/support/logs/cursor.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('cursor', cursorLogs());
