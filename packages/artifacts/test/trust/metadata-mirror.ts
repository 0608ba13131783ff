import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

import { StandInServer } from '../sources/stand-in-server.ts';

const roles = ['root', 'timestamp', 'snapshot', 'targets'] as const;
type Role = (typeof roles)[number];

interface RoleKey {
  readonly id: string;
  readonly described: object;
  readonly privateKey: KeyObject;
}

/** A repository of The Update Framework on this machine, with one list of authorities in it. */
export class MetadataMirror {
  readonly files = new Map<string, string>();
  readonly server: StandInServer;
  keys: Readonly<Record<Role, RoleKey>> = newKeys();
  expires: string = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z/, 'Z');
  readonly #versions: Record<Role, number> = { root: 0, timestamp: 0, snapshot: 0, targets: 0 };

  private constructor(server: StandInServer) {
    this.server = server;
  }

  static async open(): Promise<MetadataMirror> {
    const files = new Map<string, string>();
    const server = await StandInServer.open((request, response) => {
      const file = files.get((request.url ?? '').slice(1));
      if (file === undefined) response.writeHead(404).end('no such file');
      else response.writeHead(200, { 'content-length': Buffer.byteLength(file) }).end(file);
    });
    const mirror = new MetadataMirror(server);
    files.set = mirror.files.set.bind(mirror.files);
    files.get = mirror.files.get.bind(mirror.files);
    return mirror;
  }

  get url(): string {
    return this.server.url;
  }

  /** The root metadata of now, which a client begins with. `by` signs it too: those whom the one before names. */
  root(by: readonly RoleKey[] = []): string {
    const { keys } = this;
    const signed = this.#signed('root', {
      consistent_snapshot: true,
      keys: Object.fromEntries(roles.map((role) => [keys[role].id, keys[role].described])),
      roles: Object.fromEntries(roles.map((role) => [role, { keyids: [keys[role].id], threshold: 1 }])),
    });
    const text = signedText(signed, [keys.root, ...by]);
    this.files.set(`${this.#versions.root}.root.json`, text);
    return text;
  }

  /** Publishes a list in the place of the one before. */
  publish(list: string): void {
    const sha256 = createHash('sha256').update(list).digest('hex');
    this.files.set(`targets/${sha256}.trusted_root.json`, list);
    const targets = { targets: { 'trusted_root.json': { length: Buffer.byteLength(list), hashes: { sha256 } } } };
    const { keys } = this;
    const text = signedText(this.#signed('targets', targets), [keys.targets]);
    this.files.set(`${this.#versions.targets}.targets.json`, text);
    const snapshot = { meta: { 'targets.json': { version: this.#versions.targets } } };
    const snapshotText = signedText(this.#signed('snapshot', snapshot), [keys.snapshot]);
    this.files.set(`${this.#versions.snapshot}.snapshot.json`, snapshotText);
    const timestamp = { meta: { 'snapshot.json': { version: this.#versions.snapshot } } };
    this.files.set('timestamp.json', signedText(this.#signed('timestamp', timestamp), [keys.timestamp]));
  }

  #signed(role: Role, content: object): object {
    this.#versions[role] += 1;
    const version = this.#versions[role];
    return { _type: role, spec_version: '1.0.31', version, expires: this.expires, ...content };
  }
}

export function newKeys(): Readonly<Record<Role, RoleKey>> {
  return { root: newKey(), timestamp: newKey(), snapshot: newKey(), targets: newKey() };
}

function newKey(): RoleKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex');
  const described = { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: raw } };
  return { id: createHash('sha256').update(canonical(described)).digest('hex'), described, privateKey };
}

function signedText(signed: object, keys: readonly RoleKey[]): string {
  const bytes = Buffer.from(canonical(signed));
  const signatures = keys.map(({ id, privateKey }) => ({
    keyid: id,
    sig: sign(null, bytes, privateKey).toString('hex'),
  }));
  return JSON.stringify({ signed, signatures });
}

/** Keys in their order and no blanks: what is signed. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`;
}
