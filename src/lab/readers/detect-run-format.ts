import type { RunFormat } from '../run.ts';
import { amp } from './amp.ts';
import { atif } from './atif.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { copilot } from './copilot.ts';
import { cursor } from './cursor.ts';
import { droid } from './droid.ts';
import { geminiCli } from './gemini-cli.ts';
import { goose } from './goose.ts';
import type { Fields } from './json-values.ts';
import type { LogReader } from './log-reader.ts';
import { messages } from './messages.ts';
import { miniSweAgent } from './mini-swe-agent.ts';
import { opencode } from './opencode.ts';
import { openhands } from './openhands.ts';
import { pi } from './pi.ts';
import { qwenCode } from './qwen-code.ts';
import { sweAgent } from './swe-agent.ts';
import { tauBench } from './tau-bench.ts';

/** All readers, the most specific ones first. */
export const logReaders: readonly LogReader[] = [
  qwenCode,
  cursor,
  droid,
  claudeCode,
  codex,
  opencode,
  geminiCli,
  sweAgent,
  miniSweAgent,
  openhands,
  amp,
  goose,
  pi,
  cline,
  copilot,
  tauBench,
  atif,
  messages,
];

/** The format of a record. The first record with a known format decides for its file. */
export function detectRunFormat(record: Fields): RunFormat | undefined {
  return logReaders.find((reader) => reader.matches(record))?.format;
}
