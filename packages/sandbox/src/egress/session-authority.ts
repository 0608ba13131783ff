/** Makes the certificates with which the proxy of a session opens TLS for the hosts that are granted with rules or a credential (RFC 5280). */

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';

interface AuthorityRequest {
  /** The hosts that it may speak for, as URLs have them. */
  readonly hosts: readonly string[];
  readonly nowMs: number;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** An authority whose key is in memory alone, and which no client takes for any other host. */
export interface SessionAuthority {
  /** Its certificate in PEM. */
  readonly pem: string;
  contextFor(host: string): SecureContext;
}

const hourMs = 3_600_000;
/** A session may stay up for months; clients take no longer than this. */
const lifeMs = 365 * 24 * hourMs;

export function sessionAuthority(request: AuthorityRequest): SessionAuthority {
  const own = keyPair();
  const name = 'svc session';
  const authority = { name, publicKey: own.publicKey };
  const pem = certificate({
    ...request,
    subject: authority,
    issuer: { ...authority, privateKey: own.privateKey },
    extensions: authorityExtensions(request.hosts),
  });
  const contexts = new Map<string, SecureContext>();
  let leaf: ReturnType<typeof keyPair> | null = null;
  return {
    pem,
    contextFor: (host) => {
      const known = contexts.get(host);
      if (known !== undefined) return known;
      if (!request.hosts.includes(host)) throw new Error('the authority of the session does not speak for this host');
      const { publicKey, privateKey } = (leaf ??= keyPair());
      const cert = certificate({
        ...request,
        subject: { name: 'svc session host', publicKey },
        issuer: { ...authority, privateKey: own.privateKey },
        extensions: hostExtensions(host),
      });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const context = createSecureContext({ key, cert: cert + pem });
      contexts.set(host, context);
      return context;
    },
  };
}

interface Party {
  readonly name: string;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
}

interface CertificateRequest extends Omit<AuthorityRequest, 'hosts'> {
  readonly subject: Party;
  readonly issuer: Party & { readonly privateKey: KeyObject };
  readonly extensions: readonly Buffer[];
}

function keyPair(): { readonly publicKey: Buffer; readonly privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { publicKey: publicKey.export({ type: 'spki', format: 'der' }), privateKey };
}

/** Bytes of DER (X.690) with this tag. */
function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => element(0x30, ...parts);
const octets = (bytes: Uint8Array): Buffer => element(0x04, bytes);
const bits = (unused: number, bytes: Uint8Array): Buffer => element(0x03, Buffer.of(unused), bytes);
const identifier = (hex: string): Buffer => element(0x06, Buffer.from(hex, 'hex'));
const yes = Buffer.of(0x01, 0x01, 0xff);

/** By RFC 5280 section 4.2.1, and `ecdsa-with-SHA256` of RFC 5758. */
const identifiers = {
  commonName: '550403',
  ecdsaSha256: '2a8648ce3d040302',
  subjectKey: '551d0e',
  keyUsage: '551d0f',
  alternativeName: '551d11',
  basicConstraints: '551d13',
  nameConstraints: '551d1e',
  authorityKey: '551d23',
  extendedUsage: '551d25',
  serverAuthentication: '2b06010505070301',
} as const;

function extension(name: keyof typeof identifiers, value: Buffer, isCritical = false): Buffer {
  return sequence(identifier(identifiers[name]), ...(isCritical ? [yes] : []), octets(value));
}

function certificate({ subject, issuer, extensions, nowMs, randomBytes }: CertificateRequest): string {
  const algorithm = sequence(identifier(identifiers.ecdsaSha256));
  const signed = sequence(
    element(0xa0, element(0x02, Buffer.of(2))),
    // A positive number.
    element(0x02, Buffer.of(1), randomBytes(15)),
    algorithm,
    nameOf(issuer),
    sequence(timeOf(nowMs - hourMs), timeOf(nowMs + lifeMs)),
    nameOf(subject),
    subject.publicKey,
    element(
      0xa3,
      sequence(
        ...extensions,
        extension('subjectKey', octets(keyIdentifier(subject))),
        extension('authorityKey', sequence(element(0x80, keyIdentifier(issuer)))),
      ),
    ),
  );
  const der = sequence(signed, algorithm, bits(0, sign('sha256', signed, issuer.privateKey)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function nameOf({ name }: Party): Buffer {
  return sequence(element(0x31, sequence(identifier(identifiers.commonName), element(0x0c, Buffer.from(name)))));
}

/** UTCTime, which years up to 2049 have. */
function timeOf(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return element(0x17, Buffer.from(`${digits}Z`));
}

/** The digest of the point, which are the last 65 bytes. */
function keyIdentifier({ publicKey }: Party): Buffer {
  return createHash('sha1').update(publicKey.subarray(-65)).digest();
}

function authorityExtensions(hosts: readonly string[]): readonly Buffer[] {
  return [
    extension('basicConstraints', sequence(yes, element(0x02, Buffer.of(0))), true),
    // Signs certificates.
    extension('keyUsage', bits(2, Buffer.of(0x04)), true),
    extension('nameConstraints', constraintsOf(hosts), true),
  ];
}

/** A kind of names without a host in the list would be free: it gets a name that no host has, or every address is excluded. */
function constraintsOf(hosts: readonly string[]): Buffer {
  const subtree = (tag: number, value: Uint8Array): Buffer => sequence(element(tag, value));
  const names = hosts.filter((host) => addressOf(host) === null);
  const addresses = hosts.flatMap((host) => addressOf(host) ?? []);
  const permitted = [
    ...(names.length === 0 ? ['svc.invalid'] : names).map((name) => subtree(dnsName, Buffer.from(name))),
    ...addresses.map((bytes) => subtree(ipAddress, Buffer.concat([bytes, Buffer.alloc(bytes.length, 0xff)]))),
  ];
  const excluded = addresses.length > 0 ? [] : [8, 32].map((length) => subtree(ipAddress, Buffer.alloc(length)));
  return sequence(element(0xa0, ...permitted), ...(excluded.length === 0 ? [] : [element(0xa1, ...excluded)]));
}

const [dnsName, ipAddress] = [0x82, 0x87] as const;

function hostExtensions(host: string): readonly Buffer[] {
  const address = addressOf(host);
  const name = address === null ? element(dnsName, Buffer.from(host)) : element(ipAddress, address);
  return [
    extension('alternativeName', sequence(name)),
    extension('extendedUsage', sequence(identifier(identifiers.serverAuthentication))),
    // Signs in a handshake.
    extension('keyUsage', bits(7, Buffer.of(0x80)), true),
  ];
}

/** The bytes of an address as a URL spells it; null for a name. */
function addressOf(host: string): Buffer | null {
  const plain = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(plain) === 4) return Buffer.from(plain.split('.').map(Number));
  if (isIP(plain) === 0) return null;
  const [front = '', back] = plain.split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(front), groups(back ?? '')];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
