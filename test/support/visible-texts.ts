import { OpenCalls } from '../../src/formats/calls.ts';
import type { Segment } from '../../src/message.ts';
import { originalHandle } from '../../src/plan/arrival/last-line.ts';
import { readCall } from '../../src/plan/arrival/read-call.ts';
import { readReferences } from '../../src/plan/arrival/reference-line.ts';
import { resolveReferences, type Visible } from '../../src/plan/arrival/resolve-references.ts';

/** The texts that a model sees, each with how a reference names it. */
export function textsOf(segments: readonly Segment[]): Visible[] {
  const calls = new OpenCalls<string>();
  return segments.flatMap(({ kind, tool, callId = '', text }): Visible[] => {
    if (kind === 'action') {
      calls.made(callId, text);
      const { subject, texts } = readCall(text);
      return texts.map((part) => ({
        text: part.text,
        about: { kind: 'call', tool, subject, argument: part.argument },
      }));
    }
    if (kind !== 'observation') return [];
    const { subject } = readCall(calls.answered(callId) ?? '');
    return [{ text, about: { kind: 'result', tool, subject } }];
  });
}

/** The results with references, each with its whole text by the texts that are sent above it; undefined where they lack its lines. */
export function resolved(
  segments: readonly Segment[],
): { readonly shaped: string; readonly whole: string | undefined }[] {
  const texts = textsOf(segments);
  return texts.flatMap(({ text, about }, i) => {
    if (about.kind !== 'result' || readReferences(text).length === 0) return [];
    const body = originalHandle(text) === undefined ? text : text.slice(0, text.lastIndexOf('\n['));
    return [{ shaped: text, whole: resolveReferences(body, texts.slice(0, i)) }];
  });
}
