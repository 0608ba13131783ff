/** The `hook_error` lines of a trace, as `<hook> <event>: <error>`. */
export function hookErrors(trace: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return trace
    .filter((line) => line['event_type'] === 'hook_error')
    .map((line) => `${String(line['hook_name'])} ${String(line['event'])}: ${String(line['error'])}`);
}

export function eventTypes(trace: readonly Readonly<Record<string, unknown>>[]): readonly unknown[] {
  return trace.map((line) => line['event_type']);
}
