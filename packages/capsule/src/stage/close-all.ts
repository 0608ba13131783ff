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
