/** Signs archives for a CI job: a key that lives for one signature, a certificate that says whose it was, and an entry in a public log. */

import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { HttpClient } from '@svc/kit/net/http-client.ts';
import { bodyOf } from '@svc/kit/net/request-run.ts';
import { asJsonObject, asStrings, type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import { readErrorText } from '../sources/registry-source.ts';
import type { IdentityToken } from './ci-identity.ts';
import { encodeStatement, envelopeOf, preAuthentication, type Statement } from './statement.ts';

/** The certificate authority and the log of the public instance of Sigstore. */
export const publicServices = { authority: 'https://fulcio.sigstore.dev', log: 'https://rekor.sigstore.dev' } as const;

export interface SigningServices {
  /** Addresses without a slash at their end. */
  readonly authority: string;
  readonly log: string;
  readonly http: HttpClient;
}

/** A bundle with a statement about an archive, signed as the job that the token is of. `E-REG-014` for whatever the services refuse. */
export async function signKeyless(
  statement: Statement,
  identity: IdentityToken,
  services: SigningServices,
): Promise<string> {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const publicPem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const proof = sign('sha256', Buffer.from(identity.subject), keys.privateKey);
  const certificate = await askCertificate({ identity, publicPem, proof }, services);
  const payload = encodeStatement(statement);
  const envelope = envelopeOf(payload, sign('sha256', preAuthentication(payload), keys.privateKey));
  const entry = await askEntry(envelope, certificate, services);
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { certificate: { rawBytes: certificate.raw.toString('base64') }, tlogEntries: [entry] },
    dsseEnvelope: envelope,
  });
}

interface CertificateQuestion {
  readonly identity: IdentityToken;
  readonly publicPem: string;
  readonly proof: Buffer;
}

async function askCertificate(
  { identity, publicPem, proof }: CertificateQuestion,
  services: SigningServices,
): Promise<X509Certificate> {
  const { authority } = services;
  const answer = await ask(services, {
    label: `the certificate authority ${authority}`,
    url: `${authority}/api/v2/signingCert`,
    secret: identity.token,
    body: {
      credentials: { oidcIdentityToken: identity.token.reveal() },
      publicKeyRequest: {
        publicKey: { algorithm: 'ECDSA', content: publicPem },
        proofOfPossession: proof.toString('base64'),
      },
    },
  });
  const signed = asJsonObject(answer['signedCertificateEmbeddedSct']) ?? {};
  const [pem = ''] = asStrings(asJsonObject(signed['chain'])?.['certificates']) ?? [];
  try {
    return new X509Certificate(pem);
  } catch {
    // OpenSSL throws errors of many kinds for what is no certificate.
    throw misunderstood(`the certificate authority ${authority}`, 'it gives no certificate with the proof of a log');
  }
}

type Envelope = Readonly<Record<string, unknown>>;

/** The entry of the log as a bundle has it. */
async function askEntry(
  envelope: Envelope,
  certificate: X509Certificate,
  services: SigningServices,
): Promise<JsonObject> {
  const { log } = services;
  const label = `the log ${log}`;
  const verifiers = [Buffer.from(certificate.toString()).toString('base64')];
  const answer = await ask(services, {
    label,
    url: `${log}/api/v1/log/entries`,
    secret: null,
    body: {
      apiVersion: '0.0.1',
      kind: 'dsse',
      spec: { proposedContent: { envelope: JSON.stringify(envelope), verifiers } },
    },
  });
  const entry = asJsonObject(Object.values(answer)[0]) ?? {};
  const { body, integratedTime, logID, logIndex } = entry;
  const { inclusionProof, signedEntryTimestamp } = asJsonObject(entry['verification']) ?? {};
  const proof = asJsonObject(inclusionProof);
  if (typeof body !== 'string' || typeof signedEntryTimestamp !== 'string' || proof === null) {
    throw misunderstood(label, 'it gives no entry with a proof');
  }
  return {
    logIndex: String(logIndex),
    logId: { keyId: hexAsBase64(logID) },
    kindVersion: { kind: 'dsse', version: '0.0.1' },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof['logIndex']),
      rootHash: hexAsBase64(proof['rootHash']),
      treeSize: String(proof['treeSize']),
      hashes: (asStrings(proof['hashes']) ?? []).map(hexAsBase64),
      checkpoint: { envelope: String(proof['checkpoint']) },
    },
    canonicalizedBody: body,
  };
}

function hexAsBase64(hex: unknown): string {
  return Buffer.from(String(hex), 'hex').toString('base64');
}

interface Question {
  readonly label: string;
  readonly url: string;
  readonly body: unknown;
  /** What is not repeated, should an answer echo it. */
  readonly secret: Secret | null;
}

const largestAnswer = 1024 * 1024;

/** The object that a service answers a POST with. */
async function ask({ http }: SigningServices, { label, url, body, secret }: Question): Promise<JsonObject> {
  const answer = await http.send({
    label,
    url: new URL(url),
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    key: null,
    body: bodyOf(Buffer.from(JSON.stringify(body))),
  });
  if (answer.status !== 200 && answer.status !== 201) {
    const { shown } = await readErrorText(answer, secret);
    throw new Diagnostic('E-REG-014', `${label} refuses to sign (${answer.status})${shown}`, {
      hint: 'a token is good for some minutes: run the job again; or sign with --key <file>',
    });
  }
  const parsed = parseJsonObject((await answer.text(largestAnswer)) ?? '');
  if (parsed === null) throw misunderstood(label, 'it answers no JSON object');
  return parsed;
}

function misunderstood(label: string, reason: string): Diagnostic {
  return new Diagnostic('E-REG-014', `what ${label} answers cannot be understood: ${reason}`);
}
