/** Ends everything that a session holds open. */

/** Closes each of them, whatever the others come to; rejects with what the first one failed with. */
export async function closeAll(closing: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of closing) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** The same for what does not need each other: all of them begin to close at once. */
export async function closeTogether(closing: readonly (() => Promise<void>)[]): Promise<void> {
  const ends = await Promise.allSettled(closing.map((end) => end()));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
