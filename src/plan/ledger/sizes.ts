import type { Kind, Segment } from '../../message.ts';

export interface Sizes {
  tokens: number;
  chars: number;
}

export type ByKind = Record<Kind, Sizes>;

export function emptySizes(): ByKind {
  const none = (): Sizes => ({ tokens: 0, chars: 0 });
  return { system: none(), user: none(), reasoning: none(), action: none(), observation: none() };
}

/** The framing of a message costs this much on top of its text. */
export const MESSAGE_TOKENS = 4;

/** The text of a segment and its images and files. */
export function contentTokens(segment: Segment, textTokens: number): number {
  return segment.media ? segment.media.reduce((sum, item) => sum + item.tokens, textTokens) : textTokens;
}

/** Ids are random letters and digits, about two to a token; names are words. */
export function nameTokens({ tool, callId }: Segment): number {
  return (
    (callId === undefined ? 0 : Math.ceil(callId.length / 2)) + (tool === undefined ? 0 : Math.ceil(tool.length / 4))
  );
}

/** Arguments of a call that are not part of the text of its message. */
export const isArguments = ({ kind, path }: Segment): boolean =>
  kind === 'action' && !(path.length === 1 && path[0] === 'content');
