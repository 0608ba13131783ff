/** Waits until a process has ended. */

/** How often it is looked. */
const lookMs = 500;

/** Calls `onGone` once, `graceMs` after `isThere` has said no. Returns what ends the watch. It keeps no process up. */
export function whenGone(isThere: () => boolean, onGone: () => void, graceMs = 0): () => void {
  const timer = setInterval(() => {
    if (isThere()) return;
    clearInterval(timer);
    if (graceMs === 0) onGone();
    else setTimeout(onGone, graceMs).unref();
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
