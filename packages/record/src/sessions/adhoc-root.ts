/** The workspace of all sessions for which there is no manifest. */

import { join } from 'node:path';

/** One for all folders, so that their journals are kept to `trace.keep` together (docs/adr/workdir.md "A folder is shown read only"). */
export function adhocRoot(home: string): string {
  return join(home, '.svc', 'adhoc');
}
