import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.12';

/** Blocks the guest; the host ends it when the task is canceled. */
export function sleep(milliseconds: number): void {
  using elapsed = subscribeDuration(Math.ceil(milliseconds) * 1_000_000);
  elapsed.block();
}
