/** Decides which paths of the host a manifest may open to contained programs. */

import { accessSync, constants, readdirSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { listedHome } from '@svc/kit/files/home-directory.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { mountTypesAt, ownGroupFacts } from '@svc/sandbox/own-facts.ts';

export interface HostSurroundings {
  readonly home: string;
  /** Where the manifest lies, and where its sessions are kept. */
  readonly own: readonly string[];
  /** What programs have already: the workdir, and the folder of a task. */
  readonly given: readonly string[];
  readonly env: Environment;
}

/** `E-CAP-026` for each path of `host_read` that is not there, leads elsewhere, or would show what no agent is shown. */
export function refusedHostReads(
  paths: readonly string[],
  surroundings: HostSurroundings,
  { locate, flag }: { readonly locate: LoadedManifest['locate']; readonly flag: string | null },
): readonly Diagnostic[] {
  const { mounts } = ownGroupFacts();
  return paths.flatMap((path, index) => {
    const refused = refusalOf(path, surroundings, mounts);
    if (refused === null) return [];
    const [why, hint] = refused;
    const key = ['capabilities', 'filesystem', 'host_read'];
    const message = `${flag ?? key.join('.')}: ${JSON.stringify(path)} is not opened to programs: it ${why}`;
    const location = flag === null ? { location: locate([...key, index], 'value') } : {};
    return [new Diagnostic('E-CAP-026', message, { ...location, hint })];
  });
}

type Refusal = readonly [why: string, hint: string];

const narrower = 'name the folder of the one program that is needed';
const leaveOut = 'leave it out';

function refusalOf(path: string, surroundings: HostSurroundings, mounts: string): Refusal | null {
  // Before anything there is looked at: what stands in such a place is nobody's to ask.
  const closed = closedPlace(path, surroundings);
  if (closed !== null) return [closed, narrower];
  const found = entryAt(path);
  if (typeof found === 'string') return [found, 'install it, correct the path, or leave it out'];
  if (found.real !== path) {
    const beyond = closedPlace(found.real, surroundings);
    return beyond === null
      ? [
          `is a link or lies behind one, and leads to ${JSON.stringify(found.real)}`,
          `name ${JSON.stringify(found.real)} itself`,
        ]
      : [`leads to ${JSON.stringify(found.real)}, which ${beyond}`, leaveOut];
  }
  if (found.kind === 'other') return ['is neither a file nor a folder', narrower];
  const shown = found.names.find(isMaskedName);
  if (shown !== undefined) return [`holds ${JSON.stringify(shown)}, which no agent is shown`, narrower];
  const type = mountTypesAt(path, mounts).find((each) => ofKernel.has(each));
  return type === undefined ? null : [`has files of the kernel in it (${type})`, narrower];
}

interface Entry {
  readonly real: string;
  readonly kind: 'file' | 'folder' | 'other';
  readonly names: readonly string[];
}

/** Returns why it cannot be read, as a clause, where the system refuses. */
function entryAt(path: string): Entry | string {
  try {
    const [real, found] = [realpathSync(path), statSync(path)];
    const kind = found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other';
    if (kind !== 'other') accessSync(path, constants.R_OK);
    return { real, kind, names: kind === 'folder' ? readdirSync(path) : [] };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return `cannot be read: ${systemReason(error)}`;
  }
}

/** File systems that are no files, wherever they are mounted. */
const ofKernel: ReadonlySet<string> = new Set(
  'proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs securityfs configfs bpf mqueue efivarfs pstore binfmt_misc'.split(
    ' ',
  ),
);

type Row = readonly [places: readonly string[], what: string];

function below(folder: string, names: string): readonly string[] {
  return names.split(' ').map((name) => join(folder, name));
}

/** Neither they, nor what they hold, nor what holds them. */
const ofSystem: readonly Row[] = [
  [['/proc', '/sys', '/dev'], 'where the kernel shows this machine'],
  [['/run', '/var/run', '/tmp/.X11-unix', '/tmp/.ICE-unix'], 'where services of this machine have their sockets'],
  [
    below(
      '/etc',
      'shadow shadow- gshadow gshadow- sudoers sudoers.d ssh ssl/private pki/tls/private krb5.keytab letsencrypt wireguard openvpn ipsec.d kubernetes docker NetworkManager/system-connections',
    ),
    'which may have keys and passwords',
  ],
  [
    below('/var/lib', 'docker containerd containers kubelet libvirt lxc lxd sss systemd NetworkManager'),
    'which services of this machine keep',
  ],
  [['/var/spool', '/var/mail', '/var/log', '/var/backups', '/boot', '/lost+found'], 'which this machine keeps'],
];

/** In a home, what programs keep of keys, of sessions and of what was typed. */
const ofHome =
  '.gnupg .aws .azure .docker .kube .netrc .git-credentials .npmrc .yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .gem/credentials .composer/auth.json .terraform.d .pgpass .my.cnf .vault-token .password-store .mozilla .thunderbird .claude .claude.json .codex .gemini .bash_history .zsh_history .python_history .node_repl_history .local/share/keyrings .config/gcloud .config/gh .config/git .config/glab-cli .config/sops .config/rclone .config/op .config/google-chrome .config/chromium .config/github-copilot';

/** Why no program is given a path, as the end of a sentence that begins with "it"; null where nothing is known against it. By its spelling alone. */
export function closedPlace(path: string, { home, own, given, env }: HostSurroundings): string | null {
  const name = path.split('/').find(isMaskedName);
  if (name !== undefined) return `is or lies in ${JSON.stringify(name)}, which no agent is shown`;
  const homes = [home, listedHome(), '/root', /^\/home\/[^/]+/.exec(path)?.[0] ?? '/home'].filter(isAbsolute);
  const held = holding(path, [...homes, '/home']);
  if (held !== null)
    return held === path ? 'is a home folder, or has those of people' : `holds ${JSON.stringify(held)}, a home folder`;
  const around = holding(path, own);
  if (around !== null) return `holds ${JSON.stringify(around)}, where svc keeps what belongs to this capsule`;
  const rows: readonly Row[] = [
    ...ofSystem,
    [socketsOf(env), 'where services of this machine have their sockets'],
    [spelt(homes.flatMap((each) => below(each, ofHome))), 'which may have keys and passwords'],
    [spelt(given), 'which programs have already'],
  ];
  for (const [places, what] of rows) {
    const place = places.find((each) => isBeneath(each, path) || isBeneath(path, each));
    if (place !== undefined) return relation(path, place, what);
  }
  return null;
}

function relation(path: string, place: string, what: string): string {
  if (place === path) return `is a place ${what}`;
  return `${isBeneath(place, path) ? 'lies in' : 'holds'} ${JSON.stringify(place)}, ${what}`;
}

/** The first of `places` that is the path or lies in it. */
function holding(path: string, places: readonly string[]): string | null {
  return spelt(places).find((place) => isBeneath(path, place)) ?? null;
}

/** As they are written, and as they are without links. */
function spelt(places: readonly string[]): readonly string[] {
  return [...new Set(places.flatMap((place) => [place, realPath(place)]))];
}

function socketsOf(env: Environment): readonly string[] {
  const { XDG_RUNTIME_DIR: ofUser = '', SSH_AUTH_SOCK: ofKeys = '', DOCKER_HOST: engine = '' } = env;
  return spelt(
    [ofUser, ofKeys, engine.replace(/^unix:\/\//, '')].filter((place) => isAbsolute(place) && place !== '/'),
  );
}
