import { readFileSync } from 'node:fs';
import { packPage } from './packed-page.ts';
import type { ReplayPage } from './replay-result.ts';

/** The same folder from src/, where tests run, and from dist/, which is published. */
const FOLDER = new URL('../../dist/web/', import.meta.url);

const PLACE = '<script type="application/json" id="data">';

/** The page of `palimpsest replay --html`: one file that loads nothing, with its data inside. */
export const writePage = (page: ReplayPage): string => fillPage('report.html', packPage(page));

/** A page that was built into one file, with data for its script. */
export function fillPage(name: 'report.html' | 'comparison.html', data: unknown): string {
  const template = readFileSync(new URL(name, FOLDER), 'utf8');
  const place = template.indexOf(PLACE) + PLACE.length;
  return template.slice(0, place) + toScriptData(data) + template.slice(place);
}

/** JSON that cannot end the script element or open a comment in HTML, whatever the logs contain. */
function toScriptData(value: unknown): string {
  return JSON.stringify(value).replace(/[<\u2028\u2029]/g, toEscape);
}

const toEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
