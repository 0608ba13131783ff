/** True once nobody has this process id any more. */
export function isGone(pid: unknown): boolean {
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch {
    return true;
  }
}
