/** Says where the door tokens of a user are. */

import { join } from 'node:path';

/** Where the tokens are, and whose they have to be; `uid` is undefined on systems that have no users of this kind. */
export interface TokenPlace {
  readonly path: string;
  readonly uid: number | undefined;
}

export function tokenPlace(home: string, uid: number | undefined): TokenPlace {
  return { path: join(home, '.svc', 'door-tokens.json'), uid };
}
