/** Spells times, sizes and numbers for people. */

const minuteChars = 16;

/** `2026-11-22 11:02`, in the time zone of this machine. */
export function shownMinute(ms: number): string {
  const date = new Date(ms);
  const local = new Date(ms - date.getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? '-' : local.toISOString().replace('T', ' ').slice(0, minuteChars);
}

/** `812 B`, `64.0 KB`, `1.2 MB`. */
export function shownBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `12 ms`, `2.1 s`, `3 m 20 s`. */
export function shownDuration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const secs = Math.round(ms / 1000);
  return secs < 3600
    ? `${Math.floor(secs / 60)} m ${secs % 60} s`
    : `${Math.floor(secs / 3600)} h ${Math.floor((secs % 3600) / 60)} m`;
}

/** `1,204` */
export function shownCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}
