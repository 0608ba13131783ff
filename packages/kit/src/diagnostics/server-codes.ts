/** The codes of svc-referee and svc-registry. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of `svc-referee` and `svc-registry`; a part of the catalogue. */
export const serverCodes = {
  'E-REF-001': {
    title: 'an option of svc-referee cannot be understood',
    explanation:
      '--port, --max-depth, --max-concurrent and --max-live-capsules are whole numbers, and every option but --version and --help has a value. The default of --registry-path is below HOME.',
  },
  'E-REF-002': {
    title: 'svc-referee cannot bind its port',
    explanation:
      'The port of 127.0.0.1 is taken by another process, perhaps by a referee that runs already, or may not be bound by this user. Each referee enforces a machine ceiling of its own, so that two together exceed it.',
  },
  'E-REG-020': {
    title: 'svc-registry has no key that clients could present',
    explanation:
      'REGISTRY_API_KEY is required where REGISTRY_KEYS names no file of keys: every request to the registry presents one. It is printable ASCII without spaces around it, such as the output of openssl rand -hex 32.',
  },
  'E-REG-021': {
    title: 'a setting of svc-registry cannot be understood',
    explanation:
      'REGISTRY_BIND is <address>:<port> with an IPv6 address in brackets, --data or REGISTRY_DATA a directory, --max-bytes or REGISTRY_MAX_BYTES whole bytes or a number with Ki, Mi or Gi, REGISTRY_KEYS a file as docs/registry.md "Several keys" shows it. Where such a file cannot be used while the server runs, the keys of before stay in force.',
  },
  'E-REG-022': {
    title: 'svc-registry cannot bind its address',
    explanation:
      'The address of REGISTRY_BIND is taken by another process, does not belong to this machine, or may not be bound by this user.',
  },
  'E-REG-023': {
    title: 'a record or an archive in the store of a registry is damaged',
    explanation:
      'What a publish wrote has been altered or removed since, or was written by a newer version. Restore the directory named from a backup. The other artifacts are served meanwhile.',
  },
  'E-REG-024': {
    title: 'the S3 service refuses svc-registry',
    explanation:
      'The service answered, and said no: to the credentials, to the clock of this machine, to the bucket, its region or what is done in it. The message gives the reason; docs/registry.md lists the permissions that are needed.',
  },
  'E-REG-025': {
    title: 'the S3 service does not answer svc-registry',
    explanation:
      'The service could not be reached, answered too late, or answered that it cannot work now, also after several attempts. Clients get 503 and should try again. Nothing is stored by halves.',
  },
  'E-REG-026': {
    title: 'the S3 service has no conditional put',
    explanation:
      'svc-registry commits a publish by PUT with If-None-Match: *. Exactly one of them may succeed. At its start the server tries that out. A service that lets several succeed would let a published version change.',
  },
  'W-REF-001': {
    title: 'a name of --spawn-allow fits no capsule',
    explanation:
      'Names of capsules are lowercase letters, digits and inner hyphens, at most 100 characters. --spawn-allow takes one name and is repeated for more; it is not a comma list.',
  },
  'W-REG-003': {
    title: 'archives are allowed to be larger than svc takes them',
    explanation:
      '--max-bytes of svc-registry is above 512 MiB. svc neither publishes nor installs such an archive, and what unpacks to more than 500 MiB is refused by the registry too, whatever the flag says.',
  },
  'W-REG-001': {
    title: 'the key of a registry is short',
    explanation:
      'A short REGISTRY_API_KEY can be guessed by trying. Take a random one, such as the output of openssl rand -hex 32.',
  },
} as const satisfies Record<string, CatalogueEntry>;
