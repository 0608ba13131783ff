/** The codes of containment: its class, its limits, and svc-sandbox. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const containmentCodes = {
  'E-CAP-003': {
    title: 'the containment floor cannot be met on this host',
    explanation:
      'The declared containment class is stronger than what the host achieves. Lower the floor or run on another host.',
  },
  'E-CAP-004': {
    title: 'SVC_CONTAINMENT_CEILING is not a containment class',
    explanation:
      'SVC_CONTAINMENT_CEILING limits the containment class that is used. It takes advisory, scoped or sealed; unset, the strongest the host offers is used.',
  },
  'E-CAP-015': {
    title: 'what makes the attempts of svc doctor is not there',
    explanation:
      'svc doctor --containment makes its attempts with the program svc-attempts, which is installed beside the helper svc-launch. Install svc anew; in a checkout, npm run build:native puts both there, or says what it needs for that.',
  },
  'E-CAP-017': {
    title: 'a state store is not a directory of its own',
    explanation:
      'A store is the directory ~/.svc/state/<name>. A link or a file stands in its place, or in that of ~/.svc/state: what it leads to could be anything. Remove it, or move the directory there.',
  },
  'E-CAP-018': {
    title: 'a limit that is required is not held here',
    explanation:
      'capabilities.resources.enforce is required, and on this host nothing holds one of the limits, or only svc itself by looking, which is too late for a fast program. svc run --explain-scope says by what each is held, and docs/containment.md what to change.',
  },
  'E-CAP-019': {
    title: 'a request to the sandbox cannot be used',
    explanation:
      'The library and svc-sandbox take paths that are there and are no links, whole numbers above 0 as limits, and a command. The message says what was given and what is wrong with it.',
  },
  'E-CAP-020': {
    title: 'the containment class cannot hold a grant of the sandbox',
    explanation:
      'Hosts of the network, and a part of a writable directory that is to be read only, as the installation of the sandbox itself is, are held in class sealed alone. In another class the command would get more than was granted, so nothing is started.',
  },
  'E-CAP-021': {
    title: 'the sandbox did not start a command',
    explanation:
      'The program is not there, cannot be run, or a step of its containment failed; the message says which. Nothing ran. svc-sandbox exits with 127, 126 or 125 for these.',
  },
  'E-CAP-026': {
    title: 'programs may not be given a path of the host',
    explanation:
      'capabilities.filesystem.host_read, or --host-read of a task without a manifest, lists files and folders that contained programs may read and whose programs they may run. Each is an absolute path of a regular file or a folder that is there, without a link on the way. Refused are places that would undo containment or show secrets: the root of all, /proc, /sys, /dev and what is mounted like them, folders of sockets such as /run, homes as a whole, keys and credentials in them, what svc keeps, the workdir and what holds it. The message says which it is; name the folder of the one program that is needed.',
  },
  'E-CAP-028': {
    title: 'the folder of capabilities.project cannot be given',
    explanation:
      'A manifest with capabilities.project gets a folder of yours as project/. Its path lies in the folder of the manifest: . for that itself, with svc.yaml in the root of the repository that it is for. Without path, and for a published capsule, svc run --project <dir> names the folder. It is refused where it is missing, a file, or not to be read by this user, with write: true also where this user cannot write in it; where path leads out of the folder of the manifest; where it is named twice or not at all; and with --workdir. The message says which it is.',
  },
  'E-CAP-030': {
    title: 'a credential, or what is held of a host, cannot be held as it is written',
    explanation:
      'capabilities.credentials declares keys that svc puts into requests itself, and a block of capabilities.network.allow says for which host, and which requests may be made there. Refused are: a credential without for or without a host, with a value that is too short or no header can carry, for a header that frames or leads a request, or one that signs or is renewed without all that this needs; a host without a scheme, over http beyond this machine, that is granted twice, or that is the endpoint of the model; a rule that is no method and path, or whose path has two readings; a variable that would give the key itself to a program. The message says which it is.',
  },
  'E-CAP-031': {
    title: 'programs cannot be held to a credential or to rules of a host here',
    explanation:
      'A host with rules or a credential is reached by commands, native tools and servers only where svc sees each of their requests, which is class sealed. The message names the host and who would reach it. Run on a host that offers sealed, keep the host from the programs with artifacts[].capabilities.network, or remove the rules and the credential.',
  },
  'E-CAP-032': {
    title: 'the way of programs to hosts with a credential or rules does not work',
    explanation:
      'Before the first turn, svc starts a program as the commands of the capsule are started. Over TLS it asks a server that stands for a host with a credential. The message says what it got instead of the answer. The session does not start: its programs would reach none of these hosts, or not as they are granted.',
  },
  'W-CAP-033': {
    title: 'a refresh token was replaced',
    explanation:
      'A credential with scheme: oauth2 has access tokens for the refresh token in its value. The server that gives them gave another refresh token too, which svc holds until the session ends and keeps nowhere. Servers that do so often take the earlier one no more: the next session may be refused. Have a refresh token made that stays the same, or give the next session a new one.',
  },
  'W-RUN-003': {
    title: 'a command that is listed cannot be run on this host',
    explanation:
      'capabilities.shell.allow names a command that is not in PATH or not executable, or that needs a file that is not there. Its tool answers every call with that.',
  },
  'W-RUN-188': {
    title: 'a file of certificates has none for programs',
    explanation:
      'SSL_CERT_FILE or NODE_EXTRA_CA_CERTS names a file that cannot be read, that is larger than 1 MiB, or that holds no certificate in PEM. Programs that are granted a host trust the certificates of these files beside those of the system; without them they do not trust what a proxy of a company shows.',
  },
  'W-RUN-059': {
    title: 'programs run with less than scoped containment',
    explanation:
      'Shell commands, native tools and a driver that is a process get the strongest class that the host offers, and this one offers no more than advisory: they read and write what the user who runs svc can. The message has the reason. svc doctor says what the host offers; --containment scoped refuses to run without.',
  },
  'W-SEC-034': {
    title: 'a path that is to be masked is not there',
    explanation:
      'capabilities.project.mask lists paths below the folder that nobody is shown. One of them is not there, perhaps for a misspelt name. It is masked as soon as it is there; until then the capsule may see what was meant.',
  },
  'W-SEC-032': {
    title: 'a declared limit is not enforced on commands and programs',
    explanation:
      'Components are held to every grant by svc itself; commands, native tools and process drivers by the kernel, and this host, or its operator, offers less than the manifest declares. Declare capabilities.containment to refuse such a host.',
  },
} as const satisfies Record<string, CatalogueEntry>;
