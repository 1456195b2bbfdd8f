import type { Handle, TurnRecord } from '../../store/store.ts';
import { quote } from '../../text.ts';
import { showBytes } from './show-store.ts';

/** A turn without its texts. */
export interface TurnSummary {
  readonly turn: number;
  readonly masked: boolean;
  /** The size of the recorded texts in UTF-8. */
  readonly bytes: number;
  readonly tools: readonly string[];
  readonly handles: readonly Handle[];
}

export function summaryOf({ turn, masked, tools = [], results = [], ...texts }: TurnRecord): TurnSummary {
  const { reasoning, action, observation, user = '' } = texts;
  const bytes = [reasoning, action, observation, user].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { turn, masked, bytes, tools, handles: results.map(({ handle }) => handle) };
}

/** A line for each turn. */
export function showTurns(session: string, turns: readonly TurnSummary[]): string {
  const rows = [HEAD, ...turns.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const masked = turns.filter((turn) => turn.masked).length;
  return `session ${session}: ${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}, ${masked} masked\n${lines.join('\n')}\n`;
}

const HEAD = ['turn', 'state', 'size', 'tools', 'handles'];

const rowOf = ({ turn, masked, bytes, tools, handles }: TurnSummary): string[] => [
  String(turn),
  masked ? 'masked' : 'whole',
  showBytes(bytes),
  showTools(tools),
  handles.join(' '),
];

/** The name of a tool came from a model. */
const showTools = (tools: readonly string[]): string => tools.map((tool) => quote(tool, 30)).join(', ') || '-';

/** One turn with all of its texts. */
export function showTurn(record: TurnRecord): string {
  const { session, turn, reasoning, action, observation, user = '', results = [] } = record;
  const { masked, bytes, tools } = summaryOf(record);
  const parts = Object.entries({ reasoning, action, observation, user }).filter(([, text]) => text !== '');
  const handles = results.map(({ handle, tool }) => `${handle}  ${quote(tool, 30)}`).join('\n');
  return [
    `turn ${turn} of session ${session}: ${masked ? 'masked' : 'whole'}, ${showBytes(bytes)}, tools: ${showTools(tools)}\n`,
    ...[...parts, ...(handles === '' ? [] : [['handles', handles]])].map(([name, text]) => `\n${name}:\n${text}\n`),
  ].join('');
}
