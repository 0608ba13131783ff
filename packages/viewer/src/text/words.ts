/** Spells times, sizes and numbers for people. */

/** `12 ms`, `2.1 s`, `3 min 20 s`, `5 h 03 min`, `2 d 15 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86_400)];
  if (hours === 0) return `${minutes} min ${two(seconds % 60)} s`;
  return hours < 48 ? `${hours} h ${two(minutes % 60)} min` : `${days} d ${hours % 24} h`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** A place in time on an axis whose marks are `step` apart: as `duration`, without a rest of nothing, and no two marks alike. */
export function axisTime(ms: number, step: number): string {
  if (ms === 0) return '0';
  if (step < 1000 && ms >= 1000) {
    const seconds = `${((ms % 60_000) / 1000).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1)} s`;
    return ms < 60_000 ? seconds : `${axisTime(ms - (ms % 60_000), 60_000)} ${seconds}`;
  }
  const exact = ms % 1000 === 0 && ms < 60_000 ? `${ms / 1000} s` : duration(ms);
  return exact.replace(/ 00 (?:s|min)$/, '').replace(/ 0 h$/, '');
}

/** `1,204`, from ten thousand on `12.3 k`, `4.5 M`. */
export function count(value: number): string {
  // What `toLocaleString` would say, in a twentieth of its time: it is said of every answer of a model.
  if (Math.abs(value) < 1000) return `${value}`;
  if (Math.abs(value) < 10_000) return `${value}`.replace(/(\d)(?=\d{3}(?:\.|$))/, '$1,');
  if (value < 999_500) return `${(value / 1e3).toFixed(value < 99_950 ? 1 : 0)} k`;
  if (value < 999_500_000) return `${(value / 1e6).toFixed(1)} M`;
  return `${(value / 1e9).toFixed(1)} G`;
}

/** `1 step`, `2 steps`. */
export function counted(value: number, one: string, many: string = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `812 B`, `64.0 KB`, `1.2 MB`, `2.1 GB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`;
  if (bytes < 999_950) return `${(bytes / 1000).toFixed(1)} KB`;
  return bytes < 999_950_000 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** `2026-11-22 12:36:33.823`, in the time zone of who reads; what no clock shows is `unknown`. */
export function moment(ms: number): string {
  // Years of more than four digits, and what is no number.
  if (!(Math.abs(ms) < 250e12)) return 'unknown';
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().replace('T', ' ').replace('Z', '');
}

/** `2026-11-22 12:36` */
export function minute(ms: number): string {
  return moment(ms).slice(0, 16);
}
