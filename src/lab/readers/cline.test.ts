import { clineLogs } from '../../../test/support/logs/cline.ts';
import { describeReader } from '../../../test/support/logs/reader-suite.ts';

describeReader('cline', clineLogs());
