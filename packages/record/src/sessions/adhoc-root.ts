/** The workspace of all sessions for which there is no manifest. */

import { join } from 'node:path';

/** One for all folders, so that their journals are kept to `trace.keep` together (ADR 0128). */
export function adhocRoot(home: string): string {
  return join(home, '.svc', 'adhoc');
}
