/** The codes of the doors that a capsule has beside its own protocol. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const doorCodes = {
  'E-RUN-130': {
    title: 'SVC_PUBLIC_URL is no address of a capsule',
    explanation:
      'SVC_PUBLIC_URL is what clients reach the listener by when it is behind a proxy or on another machine: http:// or https://, a host, a port where it is not the usual one, and the path that the proxy takes off, such as https://agents.example.com/scribe. It holds no user, no query and no fragment.',
  },
  'E-RUN-150': {
    title: 'the file of door tokens is not of this user alone',
    explanation:
      '~/.svc/door-tokens.json says who may reach the capsules of a user, so svc reads and changes it only where nobody else can have written it or can read it: a regular file of at most 64 KiB, of this user, with the mode 0600, under one name, in a folder of this user that others cannot write to. A link is never followed. While it is otherwise a capsule takes no door token. Look at who made it so, then mend its owner and mode, or remove it and add the tokens anew with svc token add.',
  },
  'E-RUN-151': {
    title: 'the file of door tokens cannot be understood',
    explanation:
      '~/.svc/door-tokens.json is no list of door tokens as this version of svc writes it: it is not JSON, has another version, or has a token that is incomplete or stands there twice. While it is so a capsule takes no door token. Restore it, or remove it and add the tokens anew with svc token add.',
  },
  'E-RUN-152': {
    title: 'a door token cannot be added as it was asked for',
    explanation:
      'svc token add takes a name of 1 to 64 of the characters a-z 0-9 . _ - that no other token has, scopes of read, send, answer and stop, a time of at most 3650 days, and the name of a capsule where the token is for that one alone. There are 100 tokens at most, expired ones among them. Nothing was added.',
  },
  'E-RUN-153': {
    title: 'there is no door token of this name',
    explanation:
      'svc token rm removes the token of exactly this name from ~/.svc/door-tokens.json, and it holds none. svc token ls lists those that there are. Nothing was removed.',
  },
  'E-RUN-160': {
    title: 'the key of agent cards cannot be used',
    explanation:
      'svc signs the agent card of a capsule with ~/.svc/keys/card.jwk, where that file is there (docs/doors.md). It must be a private Ed25519 key as a JSON Web Key, in a regular file of at most 4096 bytes that belongs to the user and that nobody else may read or write. svc does not start a capsule whose card clients would find unsigned or signed by somebody else: mend the file, or move it away, and make another with svc key card.',
  },
  'W-SEC-033': {
    title: 'the card of a capsule names an address of this machine alone',
    explanation:
      'The listener is bound to an address that other machines reach, and serves doors (docs/doors.md). The agent card names the address for their clients; without SVC_PUBLIC_URL that is localhost or the bound address. Set SVC_PUBLIC_URL to the address that clients use, or doors.serve: [] in the manifest.',
  },
} as const satisfies Record<string, CatalogueEntry>;
