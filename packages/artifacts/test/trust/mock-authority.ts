import { createHash, generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { fulcioHandler, initializeCA, initializeCTLog, initializeTLog } from '@sigstore/mock';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { signKeyless } from '../../src/store/trust/sign-keyless.ts';

export const issuer = 'https://token.actions.githubusercontent.com';
export const identity = 'https://github.com/acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0';

interface MockSettings {
  /** The time of the authority; now when absent. */
  readonly at?: Date;
  /** The time of the log, where it differs. */
  readonly loggedAt?: Date;
  /** Whether certificates are logged, as they have to be. */
  readonly logsCertificates?: boolean;
}

export interface Signing {
  readonly sha256: string;
  readonly by?: string;
  readonly at?: string;
  readonly predicateType?: string;
}

const p256 = (): KeyPairKeyObjectResult => generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** A certificate authority, its log and the log of signatures, in this process and behind one address of this machine. It ends with the test. */
export class MockAuthority {
  readonly asked: string[] = [];
  url = '';
  readonly #server: Server;
  #authority!: Awaited<ReturnType<typeof initializeCA>>;
  #certificateLog!: Awaited<ReturnType<typeof initializeCTLog>>;
  #log!: Awaited<ReturnType<typeof initializeTLog>>;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(`${request.method} ${request.url}`);
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        void this.#answer(request.url ?? '', body).then(({ status, text }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(text);
        });
      });
    });
  }

  static async start({ at, loggedAt = at, logsCertificates = true }: MockSettings = {}): Promise<MockAuthority> {
    const mock = new MockAuthority();
    await new Promise<void>((resolve) => mock.#server.listen(0, '127.0.0.1', resolve));
    mock.url = `http://127.0.0.1:${(mock.#server.address() as AddressInfo).port}`;
    mock.#certificateLog = await initializeCTLog(p256());
    mock.#authority = await initializeCA(p256(), logsCertificates ? mock.#certificateLog : undefined, at);
    mock.#log = await initializeTLog(mock.url, p256(), loggedAt);
    return mock;
  }

  /** The same, gone after the test. */
  static async open(settings: MockSettings = {}): Promise<MockAuthority> {
    // The benchmark starts one too, outside of any test.
    const { onTestFinished } = await import('vitest');
    const mock = await MockAuthority.start(settings);
    onTestFinished(() => mock.stop());
    return mock;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** The list that a client has of this authority. */
  get root(): TrustedRootJson {
    return {
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [this.#logOf(this.#log.publicKey)],
      ctlogs: [this.#logOf(this.#certificateLog.publicKey)],
      certificateAuthorities: [
        {
          uri: this.url,
          subject: { commonName: 'mock', organization: 'mock' },
          validFor: { start: '2020-01-01T00:00:00Z' },
          certChain: { certificates: [{ rawBytes: base64(this.#authority.rootCertificate as Buffer) }] },
        },
      ],
      timestampAuthorities: [],
    };
  }

  /** The token that a job of GitHub Actions gets. */
  token(by = identity, at = issuer): string {
    return `${part({ alg: 'none' })}.${part({ iss: at, sub: by, aud: 'sigstore', exp: 2 ** 33 })}.`;
  }

  /** A statement about an archive, signed by the code of the product. */
  async statement({
    sha256,
    by = identity,
    at = issuer,
    predicateType = 'https://slsa.dev/provenance/v1',
  }: Signing): Promise<BundleJson> {
    const services = { authority: this.url, log: this.url, http: new HttpClient() };
    const token = { token: new Secret(this.token(by, at)), subject: by };
    const predicate = { type: predicateType, content: {} };
    return JSON.parse(await signKeyless({ name: 'echo-1.0.0.zip', sha256, predicate }, token, services)) as BundleJson;
  }

  /** A signature of the archive itself by the same authority, made of its parts. */
  async message(archive: Buffer): Promise<BundleJson> {
    const keys = p256();
    const pem = await this.#certify(keys.publicKey);
    const sha256 = createHash('sha256').update(archive).digest();
    const signature = sign('sha256', archive, keys.privateKey);
    const entry = await this.#log.log({
      apiVersion: '0.0.1',
      kind: 'hashedrekord',
      spec: {
        data: { hash: { algorithm: 'sha256', value: sha256.toString('hex') } },
        signature: { content: signature.toString('base64'), publicKey: { content: base64(Buffer.from(pem)) } },
      },
    });
    return {
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: {
        certificate: { rawBytes: pem.replaceAll(/-----.*-----|\s/g, '') },
        tlogEntries: [entryOf(Object.values(entry)[0] as LoggedEntry, 'hashedrekord')],
      },
      messageSignature: {
        messageDigest: { algorithm: 'SHA2_256', digest: sha256.toString('base64') },
        signature: signature.toString('base64'),
      },
    };
  }

  async #certify(publicKey: KeyObject): Promise<string> {
    const content = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const body = { credentials: { oidcIdentityToken: this.token() }, publicKeyRequest: { publicKey: { content } } };
    const { response } = await fulcioHandler(this.#authority).fn(JSON.stringify(body));
    const answer = JSON.parse(response as string) as {
      signedCertificateEmbeddedSct: { chain: { certificates: [string] } };
    };
    return answer.signedCertificateEmbeddedSct.chain.certificates[0];
  }

  async #answer(path: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
    if (path === '/api/v2/signingCert') {
      const { statusCode, response } = await fulcioHandler(this.#authority).fn(body);
      return { status: statusCode, text: response as string };
    }
    if (path === '/api/v1/log/entries') {
      return { status: 201, text: JSON.stringify(await this.#log.log(canonicalEntry(body))) };
    }
    return { status: 404, text: '{}' };
  }

  #logOf(publicKey: Buffer): LogJson {
    return {
      baseUrl: this.url,
      hashAlgorithm: 'SHA2_256',
      publicKey: {
        rawBytes: base64(publicKey),
        keyDetails: 'PKIX_ECDSA_P256_SHA_256',
        validFor: { start: '2020-01-01T00:00:00Z' },
      },
      logId: { keyId: createHash('sha256').update(publicKey).digest('base64') },
    };
  }
}

/** A log keeps hashes of what it was sent. */
function canonicalEntry(body: string): object {
  const { spec } = JSON.parse(body) as { spec: { proposedContent: { envelope: string; verifiers: [string] } } };
  const { envelope, verifiers } = spec.proposedContent;
  const { payload, signatures } = JSON.parse(envelope) as { payload: string; signatures: [{ sig: string }] };
  const hash = (bytes: string | Buffer): object => {
    return { algorithm: 'sha256', value: createHash('sha256').update(bytes).digest('hex') };
  };
  return {
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: {
      envelopeHash: hash(envelope),
      payloadHash: hash(Buffer.from(payload, 'base64')),
      signatures: [{ signature: signatures[0].sig, verifier: verifiers[0] }],
    },
  };
}

interface LoggedEntry {
  readonly body: string;
  readonly integratedTime: number;
  readonly logID: string;
  readonly logIndex: number;
  readonly verification: {
    readonly signedEntryTimestamp: string;
    readonly inclusionProof: {
      readonly logIndex: number;
      readonly rootHash: string;
      readonly treeSize: number;
      readonly checkpoint: string;
    };
  };
}

function entryOf({ body, integratedTime, logID, logIndex, verification }: LoggedEntry, kind: string): EntryJson {
  const { signedEntryTimestamp, inclusionProof: proof } = verification;
  return {
    logIndex: String(logIndex),
    logId: { keyId: base64(Buffer.from(logID, 'hex')) },
    kindVersion: { kind, version: '0.0.1' },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: base64(Buffer.from(proof.rootHash, 'hex')),
      treeSize: String(proof.treeSize),
      hashes: [],
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64');
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export interface LogJson {
  baseUrl: string;
  hashAlgorithm: string;
  publicKey: { rawBytes: string; keyDetails: string; validFor: { start: string } };
  logId: { keyId: string };
}

export interface TrustedRootJson {
  mediaType: string;
  tlogs: LogJson[];
  ctlogs: LogJson[];
  certificateAuthorities: {
    uri: string;
    subject: object;
    validFor: { start: string };
    certChain: { certificates: { rawBytes: string }[] };
  }[];
  timestampAuthorities: never[];
}

export interface EntryJson {
  logIndex: string;
  logId: { keyId: string };
  kindVersion: { kind: string; version: string };
  integratedTime?: string;
  inclusionPromise?: { signedEntryTimestamp: string };
  inclusionProof?: {
    logIndex: string;
    rootHash: string;
    treeSize: string;
    hashes: string[];
    checkpoint: { envelope: string };
  };
  canonicalizedBody: string;
}

/** A bundle that tests change. */
export interface BundleJson {
  mediaType: string;
  verificationMaterial: {
    certificate?: { rawBytes: string };
    publicKey?: { hint: string };
    tlogEntries: EntryJson[];
  };
  dsseEnvelope?: { payload: string; payloadType: string; signatures: { sig: string }[] };
  messageSignature?: { messageDigest: { algorithm: string; digest: string }; signature: string };
}
