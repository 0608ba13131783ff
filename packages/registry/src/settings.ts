/** Reads the settings of the registry from flags and environment, those of its bucket among them. */

import { join, resolve } from 'node:path';
import { isIPv6 } from 'node:net';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { BindAddress } from '@svc/kit/http/listen.ts';
import { byteSize } from '@svc/artifacts/manifest/units.ts';
import { archiveLimits } from '@svc/artifacts/store/archive-entry.ts';

export interface Settings {
  /** The key for everything; null where there are only those of `keysFile`. */
  readonly key: Secret | null;
  /** Absolute path of the file of more keys. */
  readonly keysFile: string | null;
  readonly anonymousRead: boolean;
  readonly bind: BindAddress;
  /** Where its health is served without the key; null for nowhere. */
  readonly health: BindAddress | null;
  /** Absolute path of the data directory: the artifacts are there, unless they are on S3, and what is being received. */
  readonly data: string;
  /** Is null if the artifacts are files. */
  readonly s3: S3Settings | null;
  /** The largest archive that is taken. */
  readonly maxBytes: number;
  readonly warnings: readonly Diagnostic[];
}

export interface SettingSources {
  readonly flags: {
    readonly data?: string;
    readonly store?: string;
    readonly maxBytes?: string;
    readonly health?: string;
    readonly anonymousRead?: boolean;
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Read only where nothing else says where the artifacts are. */
  readonly home: string;
  readonly cwd: string;
}

const defaultMaxBytes = archiveLimits.maxArchiveBytes;
const shortKey = 16;

/** What the server runs with: flags before variables before defaults; an empty one counts as absent. `E-REG-020`, `E-REG-021`. */
export function readSettings(sources: SettingSources): Settings {
  const { flags, env, cwd } = sources;
  const keysFile = env['REGISTRY_KEYS'] || null;
  const { key, warnings } = readKey(env['REGISTRY_API_KEY'], keysFile !== null);
  const maxBytes = readMaxBytes(flags.maxBytes || env['REGISTRY_MAX_BYTES']);
  const data = flags.data || env['REGISTRY_DATA'] || join(sources.home, '.svc', 'registry');
  const store = flags.store || env['REGISTRY_STORE'] || null;
  return {
    key,
    keysFile: keysFile === null ? null : resolve(cwd, keysFile),
    anonymousRead: flags.anonymousRead ?? false,
    warnings: [...warnings, ...uselessSize(maxBytes)],
    bind: readBind(env['REGISTRY_BIND']),
    health: readHealth(flags.health || env['REGISTRY_HEALTH']),
    data: resolve(cwd, data),
    s3: store === null ? null : readS3Settings(store, env),
    maxBytes,
  };
}

function readKey(text = '', hasOthers: boolean): Pick<Settings, 'key' | 'warnings'> {
  if (text.trim() === '' && hasOthers) return { key: null, warnings: [] };
  if (text.trim() === '') throw unusableKey('REGISTRY_API_KEY is not set');
  // A header carries neither, so that no client could ever present the key.
  if (/\p{Cc}/u.test(text)) throw unusableKey('REGISTRY_API_KEY holds a control character, such as a line end');
  // Clients differ in the bytes that they send for any other character.
  if (!/^[ -~]*$/.test(text)) throw unusableKey('REGISTRY_API_KEY holds a character outside printable ASCII');
  if (text !== text.trim()) throw unusableKey('REGISTRY_API_KEY begins or ends with a space');
  const warning = new Diagnostic('W-REG-001', `REGISTRY_API_KEY has fewer than ${shortKey} characters`, {
    hint: keyHint,
  });
  return { key: new Secret(text), warnings: text.length < shortKey ? [warning] : [] };
}

const keyHint = 'make one with: openssl rand -hex 32';

function unusableKey(message: string): Diagnostic {
  return new Diagnostic('E-REG-020', message, { hint: keyHint });
}

function readBind(text = ''): BindAddress {
  if (text === '') return { address: '127.0.0.1', port: defaultPort };
  const parsed = parseBindAddress(text);
  if (parsed !== null) return parsed;
  throw new Diagnostic('E-REG-021', `REGISTRY_BIND is ${quoted(text)}, which is not an address`, {
    hint: 'write 127.0.0.1:7800, 0.0.0.0:7800 or [::1]:7800',
  });
}

/** A port is named: the one that is served otherwise would be taken. */
function readHealth(text: string | undefined): BindAddress | null {
  if (text === undefined || text === '') return null;
  const parsed = parseBindAddress(text);
  if (parsed !== null && /:\d+$/.test(text)) return parsed;
  throw new Diagnostic(
    'E-REG-021',
    `the address for the health is ${quoted(text)}, which is not an address with a port`,
    {
      hint: 'write 127.0.0.1:7801, 0.0.0.0:7801 or [::1]:7801',
    },
  );
}

function readMaxBytes(text: string | undefined): number {
  if (text === undefined || text === '') return defaultMaxBytes;
  const parsed = byteSize.safeParse(/^\d+$/.test(text) ? Number(text) : text);
  if (parsed.success) return parsed.data;
  throw new Diagnostic('E-REG-021', `the largest archive is ${quoted(text)}, which is not a size`, {
    hint: 'write whole bytes, or a whole number with Ki, Mi or Gi, such as 512Mi',
  });
}

/** `W-REG-003` for more than any client takes. */
function uselessSize(maxBytes: number): Diagnostic[] {
  const { maxArchiveBytes, maxUnpackedBytes } = archiveLimits;
  if (maxBytes <= maxArchiveBytes) return [];
  const limits = `${inMebibytes(maxArchiveBytes)}, nor one that unpacks to more than ${inMebibytes(maxUnpackedBytes)}`;
  return [
    new Diagnostic('W-REG-003', `the largest archive is set to ${maxBytes} bytes, but svc takes none above ${limits}`, {
      hint: 'larger archives are for other clients; what unpacks to more is refused whatever is set',
    }),
  ];
}

function inMebibytes(bytes: number): string {
  return `${bytes / (1024 * 1024)} MiB`;
}

const defaultPort = 7800;

const shape = /^(?:\[([^[\]]+)\]|([^[\]:]+))(?::(\d{1,5}))?$/;

/** `<address>`, `<address>:<port>`, `[<IPv6 address>]` or `[<IPv6 address>]:<port>`; null for anything else. */
export function parseBindAddress(text: string): BindAddress | null {
  const [, bracketed, plain, digits] = shape.exec(text) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port > 65_535) return null;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { address: bracketed, port } : null;
  return plain === undefined || /\s/.test(plain) ? null : { address: plain, port };
}

/** The address in the form that a URL has. */
export function renderAddress({ address, port }: BindAddress): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** The token of temporary credentials; null for lasting ones. */
  readonly sessionToken: Secret | null;
}

/** Where in which S3 service a registry keeps its artifacts, and as whom. */
export interface S3Settings {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  /** What the path of the bucket is appended to, or the host of the bucket itself. */
  readonly address: URL;
  readonly region: string;
  readonly credentials: S3Credentials;
}

const bucketShape = /^[0-9a-z][0-9a-z.-]{1,61}[0-9a-z]$/;
/** No `.` or `..`, which an address would lose, and nothing that XML or an address would spell in another way. */
const prefixShape = /^[0-9A-Za-z_-][0-9A-Za-z._-]*(\/[0-9A-Za-z_-][0-9A-Za-z._-]*)*$/;
const maxPrefix = 500;
const regionShape = /^[0-9a-z-]{1,64}$/;

/** `s3://bucket/prefix` with what the environment says beside it; an empty variable counts as absent. `E-REG-021`. */
export function readS3Settings(store: string, env: Readonly<Record<string, string | undefined>>): S3Settings {
  const { bucket, prefix } = parseStore(store);
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1';
  if (!regionShape.test(region))
    throw unusable(`AWS_REGION is ${quoted(region)}, which is not a region`, 'such as eu-west-1');
  return {
    bucket,
    prefix,
    region,
    address: bucketAddress(bucket, region, env['S3_ENDPOINT'] || null),
    credentials: readCredentials(env),
  };
}

function parseStore(text: string): Pick<S3Settings, 'bucket' | 'prefix'> {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)(?:\/(.*?)\/?)?$/.exec(text) ?? [];
  const known = bucketShape.test(bucket) && (path === '' || prefixShape.test(path)) && path.length <= maxPrefix;
  if (known) return { bucket, prefix: path === '' ? '' : `${path}/` };
  throw unusable(
    `the store is ${quoted(text)}, which is not a bucket`,
    'write s3://bucket or s3://bucket/prefix; a prefix has letters, digits, ".", "_", "-" and slashes',
  );
}

/** A bucket has a host of its own at Amazon, unless the dots in its name would break the certificate; a path anywhere else. */
function bucketAddress(bucket: string, region: string, endpoint: string | null): URL {
  if (endpoint === null) {
    const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
    return new URL(bucket.includes('.') ? `https://${host}/${bucket}/` : `https://${bucket}.${host}/`);
  }
  const parsed = URL.canParse(endpoint) ? new URL(endpoint) : null;
  const extra = parsed === null ? '' : `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}`;
  if (parsed === null || extra !== '' || !['http:', 'https:'].includes(parsed.protocol)) {
    // Not shown: a user, a password or a query may be what makes it unusable.
    const hint = 'such as https://s3.example.com, without a user, password, query or fragment';
    throw unusable('S3_ENDPOINT is not the address of a service', hint);
  }
  return new URL(`${parsed.href.replace(/\/$/, '')}/${bucket}/`);
}

function readCredentials(env: Readonly<Record<string, string | undefined>>): S3Credentials {
  const taken = (name: string): string => {
    const value = (env[name] ?? '').trim();
    // It becomes a part of a header.
    if (/[^\x21-\x7e]/.test(value)) throw unusable(`${name} holds a character that no credential has`, credentialHint);
    return value;
  };
  const [accessKeyId, secret, token] = [
    taken('AWS_ACCESS_KEY_ID'),
    taken('AWS_SECRET_ACCESS_KEY'),
    taken('AWS_SESSION_TOKEN'),
  ];
  for (const [name, value] of [
    ['AWS_ACCESS_KEY_ID', accessKeyId],
    ['AWS_SECRET_ACCESS_KEY', secret],
  ] as const) {
    if (value === '') throw unusable(`${name} is not set`, credentialHint);
  }
  return { accessKeyId, secretAccessKey: new Secret(secret), sessionToken: token === '' ? null : new Secret(token) };
}

const credentialHint = 'a store on S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';

function unusable(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-REG-021', message, { hint });
}
