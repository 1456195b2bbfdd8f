/** Under which the texts of a conversation are stored. */
export const sessionOf = (conversation: string): string => `g-${conversation}`;

/** Under which its events are: apart, so that no agent finds one among the texts of its conversation. */
export const eventSessionOf = (conversation: string): string => `ge-${conversation}`;

export const isEventSession = (session: string | undefined): boolean => session?.startsWith('ge-') === true;
