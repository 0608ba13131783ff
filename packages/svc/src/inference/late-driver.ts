/** A driver that is only loaded when the model is first asked. */

import type { Driver } from './driver.ts';

/** Loads the driver with its first question. `held` is what it would close: it is closed also where nobody ever asks. */
export function lateDriver(
  label: string,
  held: { readonly close: () => Promise<void> },
  load: () => Promise<Driver>,
): Driver {
  let loading: Promise<Driver> | null = null;
  return {
    label,
    openTask: () => {
      let opening: Promise<ReturnType<Driver['openTask']>> | null = null;
      return {
        infer: async (...asked) => {
          opening ??= (loading ??= load()).then((driver) => driver.openTask());
          return await (await opening).infer(...asked);
        },
        close: async () => {
          await (await opening)?.close();
        },
      };
    },
    close: async () => await ((await loading) ?? held).close(),
  };
}
