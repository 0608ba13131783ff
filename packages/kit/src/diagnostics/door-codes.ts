/** The codes of the doors that a capsule has beside its own protocol. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const doorCodes = {
  'E-MAN-005': {
    title: 'a door is named that this version does not have',
    explanation:
      'doors.serve of the manifest names a protocol that clients could not reach: this version of svc does not speak it. Leave it out of the list, or use a version that has it. Without the key a capsule serves every door that its version has (docs/doors.md).',
  },
  'E-RUN-130': {
    title: 'SVC_PUBLIC_URL is no address of a capsule',
    explanation:
      'SVC_PUBLIC_URL is what clients reach the listener by when it is behind a proxy or on another machine: http:// or https://, a host, a port where it is not the usual one, and the path that the proxy takes off, such as https://agents.example.com/scribe. It holds no user, no query and no fragment.',
  },
  'W-SEC-033': {
    title: 'the card of a capsule names an address of this machine alone',
    explanation:
      'The listener is bound to an address that other machines reach, and serves doors (docs/doors.md). The agent card tells their clients where to go, and without SVC_PUBLIC_URL that is localhost or the address it is bound to. Set SVC_PUBLIC_URL to the address that clients use, or doors.serve: [] in the manifest.',
  },
} as const satisfies Record<string, CatalogueEntry>;
