/** Makes certificates for servers of tests. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

export interface Authority {
  /** Files of the test. */
  readonly certificate: string;
  readonly key: string;
}

/** A certificate that vouches for itself, for one host name. Needs openssl. */
export function certify(name: string): Authority {
  const directory = mkdtempSync(join(tmpdir(), 'svc-certificate-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const request = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', ['req', ...request, '-keyout', key, '-out', certificate, ...subject], { stdio: 'ignore' });
  return { certificate, key };
}

/** What a server over TLS shows. */
export function shown({ certificate, key }: Authority): { readonly cert: Buffer; readonly key: Buffer } {
  return { cert: readFileSync(certificate), key: readFileSync(key) };
}
