/** Leads the programs of a session to hosts that are granted with rules or a credential, and tries that way before the first turn. */

import { once } from 'node:events';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, request as plainRequest, type Server } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { join } from 'node:path';

import type { HostBinding, KeyGrants } from '@svc/artifacts/grants/host-bindings.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { Connections } from '@svc/kit/net/connections.ts';
import { formatDestination, isCovered, mayReach, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import { ProxiedConnections } from '@svc/kit/net/proxied-connections.ts';
import type { BoundNetwork } from '@svc/sandbox/egress/bound-network.ts';
import { type SessionAuthority, sessionAuthority } from '@svc/sandbox/egress/session-authority.ts';
import { OutputTail } from '@svc/sandbox/launched-process.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { type MachineNetwork, systemAuthorities, systemBundles } from '../launch/machine-network.ts';
import type { SessionKeys } from './session-keys.ts';

interface BoundProgramsDeps {
  readonly grants: KeyGrants;
  readonly keys: SessionKeys;
  readonly network: Pick<MachineNetwork, 'proxyFor' | 'authorities'>;
  /** The private directory of the session. */
  readonly directory: string;
  readonly clock: Pick<Clock, 'now' | 'randomBytes'>;
}

/** Is no host of the network (RFC 6761), and stands for one while the way is tried. */
const triedHost = 'svc-way.invalid';
const securePort = 443;
/** Beside the usual one of the proxy, where no host is reached by its name. */
const plainPort = 3128;
const triedForMs = 60_000;

/** The bound hosts of one session, as its programs meet them. */
export class BoundPrograms {
  readonly #deps: BoundProgramsDeps;
  readonly #authority: SessionAuthority;
  readonly #connections: Connections;
  /** The file of all authorities that programs trust. */
  readonly bundle: string;

  constructor(deps: BoundProgramsDeps) {
    const { grants, network, directory, clock } = deps;
    this.#deps = deps;
    const hosts = grants.bindings.map(({ destination: { host } }) => host);
    const randomBytes = (count: number): Uint8Array => clock.randomBytes(count);
    this.#authority = sessionAuthority({ hosts: [...new Set([...hosts, triedHost])], nowMs: clock.now(), randomBytes });
    const allow = grants.bindings.map(({ destination }) => destination);
    const proxied = network.proxyFor === null ? {} : { proxied: new ProxiedConnections(network.proxyFor) };
    this.#connections = new Connections({ reach: { mayReach: (url) => mayReach(allow, url) }, ...proxied });
    mkdirSync(join(directory, 'hosts'), { recursive: true, mode: 0o755 });
    this.bundle = join(directory, 'hosts', 'authorities.pem');
    writeFileSync(this.bundle, (network.authorities ?? systemAuthorities()) + this.#authority.pem, { mode: 0o644 });
  }

  /** Returns null if these grants reach no such host. `subject` is one of `SessionKeys`. */
  networkFor(subject: string | null, networkAllow: readonly NetworkDestination[]): BoundNetwork | null {
    const { keys, grants } = this.#deps;
    const bindings = grants.bindings.filter(({ destination }) => isCovered(networkAllow, destination));
    if (bindings.length === 0) return null;
    const gateways = gatewaysOf(bindings);
    const port = portOf(bindings);
    const shown = [...gateways.keys()].map(
      (name) => [gatewayVariable(name), `http://127.0.0.1:${port}/${name}`] as const,
    );
    const hosts = keys.hostsFor(subject);
    const reached = new Set(bindings.map(originOf));
    return {
      ...this.#ways(subject ?? 'driver', bindings, port),
      hosts: (origin) => (reached.has(origin) ? hosts(origin) : null),
      gateways,
      variables: { ...keys.variablesFor(subject), ...Object.fromEntries(shown) },
      send: (url, options) => this.#connections.send(url, options),
    };
  }

  /** `E-CAP-032` where a program that is contained alike would not reach a host, get a key into a request, or have an answer with the key cut. */
  async tryWay(
    launcherFor: (bound: BoundNetwork, allow: readonly NetworkDestination[]) => Launcher,
    env: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { clock } = this.#deps;
    const port = portOf(this.#deps.grants.bindings);
    const destination = { scheme: 'https', host: triedHost, port } as const;
    const [secret, placeholder] = [16, 16].map((count) => Buffer.from(clock.randomBytes(count)).toString('hex'));
    const server = await openStandIn(`Bearer ${secret}`);
    try {
      const origin = new URL(formatDestination(destination)).origin;
      const key = {
        credential: 'tried',
        header: 'authorization',
        scheme: 'bearer',
        user: '',
        secret: new Secret(secret ?? ''),
        placeholder: placeholder ?? '',
        allowsForeign: false,
      } as const;
      const host = boundHost({ origin, rules: null, key });
      const to = (server.address() as AddressInfo).port;
      const bound: BoundNetwork = {
        ...this.#ways('tried', [{ destination, rules: null, credential: null, allowsForeign: false }], port),
        hosts: (asked) => (asked === origin ? host : null),
        gateways: new Map(),
        variables: {},
        isTrial: true,
        send: (_, options) => plainRequest({ ...options, host: '127.0.0.1', port: to, agent: false }),
      };
      const fault = await wayFault(launcherFor(bound, [destination]), { env, origin, placeholder: placeholder ?? '' });
      if (fault !== null) throw wayRefusal(fault);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  #ways(
    name: string,
    bindings: readonly HostBinding[],
    port: number,
  ): Pick<BoundNetwork, 'port' | 'covers' | 'contextFor'> {
    const names = bindings.flatMap(({ destination: { scheme, host, port: own } }) =>
      scheme === 'https' && own === port && isIP(host.replaceAll(/[[\]]/g, '')) === 0 ? [host] : [],
    );
    const file = join(this.#deps.directory, 'hosts', `of-${name}`);
    const system = unlessRefused(() => readFileSync('/etc/hosts', 'utf8'), '');
    writeFileSync(file, `127.0.0.1 localhost ${names.join(' ')}\n${system}`, { mode: 0o644 });
    const bundles = systemBundles.flatMap((path) => unlessRefused(() => [realpathSync(path)], []));
    return {
      port,
      covers: [
        { source: file, target: '/etc/hosts' },
        ...[...new Set(bundles)].map((target) => ({ source: this.bundle, target })),
      ],
      contextFor: (host) => this.#authority.contextFor(host),
    };
  }

  close(): void {
    this.#connections.close();
  }
}

function originOf({ destination }: HostBinding): string {
  return new URL(formatDestination(destination)).origin;
}

/** A credential that one host alone has names its gateway. */
function gatewaysOf(bindings: readonly HostBinding[]): ReadonlyMap<string, string> {
  const named = bindings.flatMap((binding) =>
    binding.credential === null ? [] : [[binding.credential, originOf(binding)] as const],
  );
  return new Map(named.filter(([name]) => named.filter(([other]) => other === name).length === 1));
}

function gatewayVariable(name: string): string {
  return `SVC_GATEWAY_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The port of hosts with TLS, the usual one before any other: there they are found by their names. */
function portOf(bindings: readonly HostBinding[]): number {
  const ports = bindings.flatMap(({ destination: { scheme, port } }) => (scheme === 'https' ? [port] : []));
  return ports.includes(securePort) ? securePort : (ports[0] ?? plainPort);
}

/** Knows the key, and shows it where it is asked to. */
async function openStandIn(expected: string): Promise<Server> {
  const server = createServer(({ url, headers }, response) => {
    if (headers.authorization !== expected) response.writeHead(403).end();
    else response.end(url === '/echo' ? headers.authorization : 'reached');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Asks as a program does that knows of no proxy, and prints what it got. */
const asking = `const [origin, placeholder] = process.argv.slice(1);
const ask = (path) => new Promise((done) => {
  const headers = { authorization: 'Bearer ' + placeholder };
  require('https').get(origin + path, { headers }, (response) => {
    let text = '';
    response.on('data', (piece) => (text += piece)).on('end', () => done(text)).on('error', (error) => done(error.code));
  }).on('error', (error) => done(error.code));
});
(async () => console.log(JSON.stringify([await ask('/'), await ask('/echo')])))();`;

interface Trial {
  readonly env: Readonly<Record<string, string>>;
  readonly origin: string;
  readonly placeholder: string;
}

/** Why the way does not work, as a clause; null when it does. */
async function wayFault(launcher: Launcher, { env, origin, placeholder }: Trial): Promise<string | null> {
  const launched = await launcher.launch({
    command: process.execPath,
    args: ['-e', asking, origin, placeholder],
    env,
    stdin: 'null',
  });
  if (launched.kind === 'refused') return launched.reason;
  const { process: started } = launched;
  const timer = setTimeout(() => started.kill('SIGKILL'), triedForMs);
  const [output, errors] = [new OutputTail(4096), new OutputTail(4096)];
  await Promise.all([output.read(started.stdout), errors.read(started.stderr), started.ended]);
  clearTimeout(timer);
  const said = output.text();
  const [reached, echoed] = unlessNone(said);
  if (reached === 'reached' && echoed !== undefined && echoed.startsWith('the answer of ')) return null;
  const words = said === '' ? errors.text() : said;
  return `a program that is contained alike got ${shortened(words, 200)}`;
}

function unlessNone(said: string): readonly (string | undefined)[] {
  return said.startsWith('[') ? (JSON.parse(said) as readonly string[]) : [];
}

function wayRefusal(fault: string): Diagnostic {
  const hint =
    'svc doctor --containment says what this host offers; without credential and rules the hosts are reached as usual';
  return new Diagnostic('E-CAP-032', `the way to hosts with a credential or rules does not work here: ${fault}`, {
    hint,
  });
}
