/** What is true of a row, as bits. */

export const failed = 1;
export const truncated = 2;
export const untrusted = 4;
/** A command that ended with another code than 0. */
export const exited = 8;
export const refused = 16;
/** From this bit on: how often a step of a plan was tried, 7 for more. */
export const tries = 5;
