/** Lets a component wait. */

import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.12';

/** Blocks the component; when the task is canceled meanwhile, the host ends the component. */
export function sleep(milliseconds: number): void {
  using elapsed = subscribeDuration(Math.ceil(milliseconds) * 1_000_000);
  elapsed.block();
}
