/**
 * The session that holds the events of a conversation: apart, so that no agent finds one among the texts of its conversation, and
 * by the hash of the first prefix alone, so that masks stay when a credential changes.
 */
export const eventSessionOf = (prefix: string): string => `ge-${prefix}`;

export const isEventSession = (session: string | undefined): boolean => session?.startsWith('ge-') === true;
