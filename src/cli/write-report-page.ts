import { fillPage } from '../lab/write-page.ts';
import type { Report } from '../report/report.ts';

/** The page of `palimpsest report --html`: one file that loads nothing, with the figures inside. */
export const writeReportPage = (report: Report): string => fillPage('comparison.html', report);
