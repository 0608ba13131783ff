/** Reads where the bucket of the registry is and with which credentials it is reached. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';

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
const longestPrefix = 500;
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
  const known = bucketShape.test(bucket) && (path === '' || prefixShape.test(path)) && path.length <= longestPrefix;
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
  const plain = parsed !== null && parsed.username === '' && parsed.search === '' && parsed.hash === '';
  if (parsed === null || !plain || !['http:', 'https:'].includes(parsed.protocol)) {
    throw unusable(`S3_ENDPOINT is ${quoted(endpoint)}, which is not an address`, 'such as https://s3.example.com');
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
