import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';

import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { gatewayUser } from '../../packages/registry/test/ceph-gateway.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { certify, shown } from '../support/certify.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { whereClassIs } from './use-capsule.ts';

const capsule = useCapsules();
const host = 's3.company.test';
const { endpoint } = inject('s3');

interface Store {
  /** All bytes that came over TLS. */
  readonly came: () => string;
  readonly run: (commands: readonly string[]) => Promise<SvcEnd & Ran>;
}

interface Ran {
  readonly workspace: Workspace;
  readonly heard: readonly string[];
}

/** The real service, over TLS and at a name that only a proxy of the machine knows. */
async function store(): Promise<Store> {
  const authority = certify(host);
  const came: Buffer[] = [];
  const server = createServer(shown(authority), (client) => {
    const upstream = connect({ port: Number(new URL(endpoint).port), host: '127.0.0.1' });
    for (const socket of [client, upstream]) socket.on('error', () => [client, upstream].map((each) => each.destroy()));
    client.on('data', (piece) => came.push(piece));
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const proxy = await StandInProxy.forTest({ route: (target) => (target === `${host}:443` ? port : null) });
  const run: Store['run'] = async (commands) => {
    const script = commands.map((command, at) => ({
      kind: 'stream' as const,
      toolCalls: [{ id: `call_${at}`, name: 'bash', arguments: JSON.stringify({ command }) }],
    }));
    const provider = await startFakeOpenAi([...script, { kind: 'stream', text: ['Done.'] }]);
    onTestFinished(async () => await provider.close());
    const workspace = capsule();
    workspace.write(
      'svc.yaml',
      `name: keyed
version: 0.1.0
trace: { capture: content }
inference: { endpoint: "${provider.endpoint}", model: small, max_turns: 40, driver: { artifact: svc-driver-openai } }
capabilities:
  shell: { allow: [bash, curl, python3, cat, env, grep, tr] }
  network: { allow: [{ host: "https://${host}", credential: store }] }
  credentials:
    store:
      { value: "\${STORE_SECRET}", for: [shell], scheme: sigv4, user: "\${STORE_USER}", region: us-east-1, service: s3, env: AWS_ACCESS_KEY_ID }
`,
    );
    const trusted = join(workspace.folder, 'authority.pem');
    copyFileSync(authority.certificate, trusted);
    const env = {
      STORE_SECRET: gatewayUser.secretAccessKey,
      STORE_USER: gatewayUser.accessKeyId,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
      NO_PROXY: '127.0.0.1',
      SVC_CONTAINMENT_CEILING: 'sealed',
      NODE_EXTRA_CA_CERTS: trusted,
    };
    const end = await svc(workspace, ['run', '-p', 'Go.', '--containment', 'sealed'], { env });
    if (end.stderr.includes('E-CAP-003')) throw new Error(end.stderr);
    const last = provider.requests.at(-1)?.json as { readonly messages: readonly Record<string, string>[] } | undefined;
    const answers = (last?.messages ?? []).filter(({ role }) => role === 'tool');
    return { ...end, workspace, heard: answers.map(({ content = '' }) => content) };
  };
  return { came: () => Buffer.concat(came).toString('latin1'), run };
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

const u = `https://${host}`;
const user = '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"';
const signs = `curl -sS --aws-sigv4 aws:amz:us-east-1:s3 ${user}`;
const begin = `import boto3, botocore, os
from botocore.config import Config
def client(**more): return boto3.client("s3", endpoint_url="${u}", config=Config(s3={"addressing_style": "path", **more}, request_checksum_calculation="when_required"))
c = client()
`;
const python = (code: string): string => `python3 - <<'END' 2>&1\n${begin}${code}\nEND`;

const whole = `
c.create_bucket(Bucket="bucket")
keys = ["plain", "with space", "a//b", "a+b (1)!'*~", "ünïcode/ключ", "a%2Fb", "x/y=z&w;v,u:t@s$r"]
for k in keys: c.put_object(Bucket="bucket", Key=k, Body=k.encode(), Metadata={"a": "b  c"})
assert sorted(o["Key"] for o in c.list_objects_v2(Bucket="bucket", Prefix="")["Contents"]) == sorted(keys)
assert [o["Key"] for o in c.list_objects_v2(Bucket="bucket", Prefix="a+b (1)")["Contents"]] == ["a+b (1)!'*~"]
for k in keys: assert c.get_object(Bucket="bucket", Key=k)["Body"].read() == k.encode()
up = c.create_multipart_upload(Bucket="bucket", Key="big")["UploadId"]
parts = [os.urandom(5 * 1024 * 1024), b"the end"]
tags = [c.upload_part(Bucket="bucket", Key="big", UploadId=up, PartNumber=n + 1, Body=p)["ETag"] for n, p in enumerate(parts)]
c.complete_multipart_upload(Bucket="bucket", Key="big", UploadId=up, MultipartUpload={"Parts": [{"ETag": t, "PartNumber": n + 1} for n, t in enumerate(tags)]})
assert c.get_object(Bucket="bucket", Key="big")["Body"].read() == b"".join(parts)
c.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": "plain"})
c.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": k} for k in keys]})
c.delete_object(Bucket="bucket", Key="copy")
h = client(payload_signing_enabled=True)
h.put_object(Bucket="bucket", Key="hashed", Body=b"h")
assert c.get_object(Bucket="bucket", Key="hashed")["Body"].read() == b"h"
h.delete_object(Bucket="bucket", Key="hashed")
print("all held", [o["Key"] for o in c.list_objects_v2(Bucket="bucket")["Contents"]])`;

describe.skipIf(spawnSync('python3', ['-c', 'import boto3']).status !== 0)(
  'a key that signs, for commands in sealed (skipped without boto3)',
  () => {
    it('reaches the service through its clients, and no place that the commands can read', async (context) => {
      const { run, came } = await store();
      const clients: readonly (readonly [string, RegExp])[] = [
        [python(whole), /all held \['big'\]/],
        [`echo from curl | tr a-z A-Z > f; ${signs} -T f ${u}/bucket/curl && ${signs} ${u}/bucket/curl`, /FROM CURL/],
        [
          `${signs} "${u}/bucket?list-type=2&prefix=cu" && ${signs} -X DELETE -w '%{http_code}' ${u}/bucket/curl`,
          /<Key>curl<.*204/s,
        ],
        [`curl -sS "${u}/bucket?list-type=2"`, /<Key>big</],
        [`${signs} "$SVC_GATEWAY_STORE/bucket?list-type=2"`, /<Key>big</],
      ];
      const refused: readonly (readonly [string, RegExp])[] = [
        [
          `curl -sS -w '%{http_code}' --aws-sigv4 aws:amz:us-east-1:s3 --user AKIAOTHER:secret ${u}/bucket`,
          /credential of its own, the header authorization.*403/s,
        ],
        [
          `curl -sS -w '%{http_code}' --aws-sigv4 aws:amz:us-east-1:s3 --user "\${AWS_ACCESS_KEY_ID%?}_:x" ${u}/bucket`,
          /credential of its own.*403/s,
        ],
        [
          `curl -sS -w '%{http_code}' --aws-sigv4 aws:amz:eu-west-1:s3 ${user} ${u}/bucket`,
          /signed for another region or service than us-east-1 and s3.*403/s,
        ],
        [
          python(
            `print(__import__("urllib.request").request.urlopen(c.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "big"})).status)`,
          ),
          /403/,
        ],
        [
          `curl -sS -w '%{http_code}' "${u}/bucket?X-Amz-Credential=$AWS_ACCESS_KEY_ID/x&X-Amz-Signature=0"`,
          /is signed in its address .a presigned URL.*403/s,
        ],
        [
          `curl -sS -w '%{http_code}' -X PUT -H 'x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD' --data x ${u}/bucket/x`,
          /each piece of its body.*403/s,
        ],
        [
          `curl -sS -w '%{http_code}' -X PUT -H 'x-amz-content-sha256: ${'0'.repeat(64)}' --data x ${u}/bucket/x`,
          /XAmzContentSHA256Mismatch/,
        ],
        [
          'env; cat /proc/*/environ; cat /proc/*/cmdline; grep -rsl testsec""ret . /etc /tmp "$HOME" /opt; echo searched',
          /searched/,
        ],
      ];
      const all = [...clients, ...refused];
      const ran = await whereClassIs(context, 'sealed', async () => await run(all.map(([command]) => command)));
      for (const [at, [command, expected]] of all.entries()) expect(ran.heard[at], command).toMatch(expected);
      expect([ran.code, ran.stdout]).toEqual([0, 'Done.\n']);
      const keys = [...came().matchAll(/Credential=([^/]+)\//g)].map(([, key]) => key);
      expect(new Set(keys)).toEqual(new Set([gatewayUser.accessKeyId]));
      expect(came()).not.toMatch(/svc-key-[0-9a-f]{32}/);
      expect(ran.heard.join('\n')).toMatch(/AWS_SECRET_ACCESS_KEY=svc-key-[0-9a-f]{32}/);
      expect(ran.heard.join('\n') + ran.stdout + ran.stderr + came()).not.toContain(gatewayUser.secretAccessKey);
      for (const path of filesIn(join(ran.workspace.folder, '.svc')))
        expect(readFileSync(path, 'latin1').includes(gatewayUser.secretAccessKey), path).toBe(false);
    }, 240_000);
  },
);
