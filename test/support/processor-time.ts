/** What something gives, and the milliseconds of the processor that this process takes for it, whatever else runs on the machine. */
export function inProcessorTime<Value>(work: () => Value): { readonly value: Value; readonly ms: number } {
  const before = process.cpuUsage();
  const value = work();
  const { user, system } = process.cpuUsage(before);
  return { value, ms: (user + system) / 1000 };
}
