import type { SessionContainment } from './containment.ts';
import type { ProcessGrants } from './launch/process-grants.ts';
import type { Launcher } from './launcher.ts';

/** A session of which no more than this is read before its first process is started or prepared: many capsules start none. */
export function lateSession(open: () => Promise<SessionContainment>): SessionContainment {
  let opening: Promise<SessionContainment> | null = null;
  let isClosed = false;
  return {
    launcher: (grants: ProcessGrants) => {
      let launcher: Promise<Launcher> | null = null;
      const opened = (): Promise<Launcher> =>
        (launcher ??= (opening ??= open()).then((session) => session.launcher(grants)));
      const prepare = async (request: Parameters<NonNullable<Launcher['prepare']>>[0]): Promise<void> => {
        const ready = await opened();
        if (!isClosed) ready.prepare?.(request);
      };
      return {
        launch: async (request) => (await opened()).launch(request),
        // A launch that needs what failed here fails of it again, and tells.
        prepare: (request) => void prepare(request).catch(() => {}),
      };
    },
    close: async () => {
      isClosed = true;
      await (await opening)?.close();
    },
  };
}
