import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { Secret } from '../../src/diagnostics/secret.ts';
import type { HeaderLine } from '../../src/keys/bound-host.ts';
import { signatureOf } from '../../src/keys/sigv4.ts';
import { sha256Hex } from '../../src/sha256.ts';

interface Sample {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly body: string;
  readonly service: string;
  readonly region: string;
  readonly token: string | null;
}

const key = { accessKeyId: 'AKIDEXAMPLE', secret: 'wJalr/XUtnFEMI+K7MDENG' };
const nowMs = Date.parse('2026-11-30T12:00:00Z');

/** Signs each sample by botocore, and prints the values of `authorization`. */
const botocore = `import json, sys, datetime, botocore.auth as auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
now = datetime.datetime(2026, 11, 30, 12, 0, 0)
auth.get_current_datetime = lambda *_, **__: now
def sign(s):
    request = AWSRequest(method=s["method"], url="https://service.test" + s["target"], data=s["body"].encode(), headers=dict(s["headers"]))
    request.context["payload_signing_enabled"] = True
    kind = auth.S3SigV4Auth if s["service"] == "s3" else auth.SigV4Auth
    kind(Credentials("${key.accessKeyId}", "${key.secret}", s["token"]), s["service"], s["region"]).add_auth(request)
    return request.headers["Authorization"]
print(json.dumps([sign(s) for s in json.load(sys.stdin)]))`;

const letters = Array.from('abXY019-._~ !\'()*+,;:@&=$/?#[]%"<>äж中😀');

function pick<T>(list: readonly T[]): T {
  return list[randomInt(list.length)] as T;
}

function text(most: number): string {
  return Array.from({ length: randomInt(most) }, () => pick(letters)).join('');
}

/** As clients of Amazon encode. */
function encoded(plain: string): string {
  const escape = (one: string): string => `%${one.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(plain).replaceAll(/[!'()*]/g, escape);
}

function sample(): Sample {
  const service = pick(['s3', 'lambda', 'sqs']);
  const segments = Array.from({ length: 1 + randomInt(4) }, () => encoded(text(8).replaceAll('/', '')));
  const isPlain = segments.every((segment) => segment !== '' && !/^\.{1,2}$/.test(segment));
  const path = isPlain ? segments.join('/') : 'x';
  const query = Array.from({ length: randomInt(5) }, () => `${encoded(`k${text(4)}`)}=${encoded(text(6))}`).join('&');
  const name = pick(['x-amz-meta-a', 'X-Amz-Acl', 'x-amz-target']);
  return {
    method: pick(['GET', 'PUT', 'POST', 'DELETE', 'HEAD']),
    target: `/${path}${query === '' ? '' : `?${query}`}`,
    headers: [
      ...(randomInt(2) ? [[name, pick([` a  b${randomInt(9)} `, 'a \t b', 'voil\u{e0}'])] as const] : []),
      ['content-type', 'text/plain'],
    ],
    body: text(20),
    service,
    region: pick(['us-east-1', 'eu-west-1']),
    token: pick([null, 'session/token+of==']),
  };
}

function ours({ method, target, headers, body, service, region, token }: Sample): string {
  const payload = sha256Hex(body);
  const sessionToken = token === null ? null : new Secret(token);
  const bytes = headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')] as const);
  const sent = { method, target, headers: [['host', 'service.test'] as const, ...bytes] };
  const lines = signatureOf({ ...key, secret: new Secret(key.secret), sessionToken, region, service }, sent, {
    payload,
    nowMs,
  });
  return lines.at(-1)?.[1] ?? '';
}

const hasBotocore = spawnSync('python3', ['-c', 'import botocore']).status === 0;

describe.skipIf(!hasBotocore)('a signature (skipped without botocore)', () => {
  it('equals the one that botocore makes, for 5,000 requests', () => {
    const samples = Array.from({ length: 5_000 }, sample);
    const run = spawnSync('python3', ['-c', botocore], { input: JSON.stringify(samples), maxBuffer: 64 * 1024 * 1024 });
    expect(String(run.stderr)).toBe('');
    const theirs = JSON.parse(String(run.stdout)) as readonly string[];
    const different = samples.filter((each, at) => ours(each) !== theirs[at]);
    expect(different.slice(0, 3).map((each) => [each, ours(each), theirs[samples.indexOf(each)]])).toEqual([]);
  });
});
