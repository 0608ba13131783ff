import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { keyGrantsIn } from '../grants/host-bindings.ts';
import { loadCapsuleManifest } from './load.ts';
import { besideValue, type LoadedManifest } from './loaded-manifest.ts';

const canary = 'canary-key-0123456789';
const base = `name: demo
version: 1.0.0
artifacts: [{ name: web, version: 1.0.0 }, { name: words, version: 1.0.0, runtime: skill }]
inference: { model: m, endpoint: https://model.test/v1, driver: { artifact: svc-driver-openai } }
`;

function load(capabilities: string, env: Environment = { TOKEN: canary }, text = base): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text: `${text}capabilities:\n${capabilities}`, env });
}

function refusals(capabilities: string, env?: Environment, text?: string): readonly string[] {
  try {
    load(capabilities, env, text);
    return [];
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(({ code, message, hint = '' }) => `${code} ${message} | ${hint}`);
  }
}

const credential = '{ value: "${TOKEN}", for: [web] }';

function capsule({ host = 'https://api.test', key = credential, more = '', entry = '' } = {}): string {
  return `  network: { allow: [{ host: "${host}", credential: service${entry} }${more}] }\n  credentials: { service: ${key} }\n`;
}

function signing({ user = ', user: AKIDEXAMPLE', scope = ', region: eu-west-1, service: s3', more = '' } = {}): string {
  return capsule({ key: `{ value: "\${TOKEN}", for: [web], scheme: sigv4${user}${scope}${more} }` });
}

function renewing({
  user = ', user: client',
  endpoint = ', token_endpoint: "https://login.test/token"',
  more = '',
} = {}): string {
  return capsule({ key: `{ value: "\${TOKEN}", for: [web], scheme: oauth2${user}${endpoint}${more} }` });
}

describe('a credential in a manifest', () => {
  it('leaves no value and no reference there, and its grants are read', () => {
    const loaded = load(capsule({ entry: ', rules: ["GET /repos/**"]' }));
    expect(loaded.credentials?.get('service')?.reveal()).toBe(canary);
    expect(JSON.stringify(loaded.manifest)).not.toContain(canary);
    expect(loaded.references).toEqual([]);
    expect(keyGrantsIn(loaded.manifest.capabilities)).toEqual({
      bindings: [
        {
          destination: { scheme: 'https', host: 'api.test', port: 443 },
          rules: ['GET /repos/**'],
          credential: 'service',
          allowsForeign: false,
        },
      ],
      credentials: [
        {
          name: 'service',
          for: ['web'],
          header: 'authorization',
          scheme: 'bearer',
          user: '',
          tokenEndpoint: null,
          signing: null,
          env: null,
          shape: 'svc-key-',
        },
      ],
    });
  });

  it('has a session token that stands nowhere else either, and variables for two halves and a region', () => {
    const more = ', session_token: "${SESSION}", env: AWS_ACCESS_KEY_ID';
    const loaded = load(signing({ more }), { TOKEN: canary, SESSION: 'canary-session' });
    expect(loaded.credentials?.get(besideValue('service', 'session_token'))?.reveal()).toBe('canary-session');
    expect(JSON.stringify([loaded.manifest, loaded.references])).not.toContain('canary');
    expect(keyGrantsIn(loaded.manifest.capabilities).credentials).toMatchObject([
      { scheme: 'sigv4', user: 'AKIDEXAMPLE', signing: { region: 'eu-west-1', service: 's3' } },
    ]);
    const other = ', other: { value: "${TOKEN}", for: [web], env: AWS_SECRET_ACCESS_KEY } }';
    const both = signing({ more: ', env: AWS_ACCESS_KEY_ID' }).replace(/ \}\n$/, `${other}\n`);
    expect(refusals(both.replace(' }] }', ' }, { host: "https://other.test", credential: other }] }'))).toEqual([
      expect.stringMatching(/^E-CAP-030 capabilities\.credentials\.other\.env is the variable of another/),
    ]);
  });

  it('needs its variable for a launch, and for nobody who only looks', () => {
    expect(refusals(capsule(), {})).toEqual([expect.stringMatching(/^E-MAN-003 .*TOKEN, which is not set/)]);
    const text = `${base}capabilities:\n${capsule()}`;
    expect(loadCapsuleManifest({ file: 'svc.yaml', text, env: {}, purpose: 'inspect' }).credentials).toBeUndefined();
  });

  it.each<readonly [string, string, string]>([
    ['has no for', capsule({ key: '{ value: "${TOKEN}" }' }), 'has no for'],
    ['has no value', capsule({ key: '{ for: [web] }' }), 'has no value'],
    ['is short', capsule({ key: '{ value: seven77, for: [web] }' }), 'fewer than 8 characters'],
    ['cannot be sent', capsule({ key: '{ value: "two\\nlines of it", for: [web] }' }), 'no header of a request takes'],
    [
      'is for a header of framing',
      capsule({ key: '{ value: "${TOKEN}", for: [web], header: Content-Length }' }),
      'frames or leads',
    ],
    [
      'is for a header of routing',
      capsule({ key: '{ value: "${TOKEN}", for: [web], header: host }' }),
      'frames or leads',
    ],
    ['is for nobody there', capsule({ key: '{ value: "${TOKEN}", for: [other] }' }), 'names no entry of artifacts'],
    [
      'is for a slip of shell',
      capsule({ key: '{ value: "${TOKEN}", for: [shel] }' }),
      'entry of artifacts | did you mean shell?',
    ],
    [
      'has a variable without braces',
      capsule({ key: '{ value: $TOKEN, for: [web] }' }),
      'value looks like a variable, but is no reference to one | write ${NAME}',
    ],
    [
      'has a variable in small letters',
      capsule({ key: '{ value: "${token}", for: [web] }' }),
      'value looks like a variable, but',
    ],
    ['is for a skill', capsule({ key: '{ value: "${TOKEN}", for: [words] }' }), 'names a skill'],
    ['is for commands without any', capsule({ key: '{ value: "${TOKEN}", for: [shell] }' }), 'lists no command'],
    ['has no user', capsule({ key: '{ value: "${TOKEN}", for: [web], scheme: basic }' }), 'has no user'],
    ['has a user', capsule({ key: '{ value: "${TOKEN}", for: [web], user: x }' }), 'stands without scheme: basic'],
    ['signs without an access key', signing({ user: '' }), 'has no user'],
    ['signs without a region', signing({ scope: ', service: s3' }), 'has no region'],
    ['signs without a service', signing({ scope: ', region: eu-west-1' }), 'has no service'],
    ['signs for a region that is none', signing({ scope: ', region: "eu/west", service: s3' }), 'lowercase letters'],
    ['signs in another header', signing({ more: ', header: x-api-key' }), 'another header than authorization'],
    ['signs with a variable that no client reads', signing({ more: ', env: KEY' }), 'end with ACCESS_KEY_ID'],
    [
      'has a region for another scheme',
      capsule({ key: '{ value: "${TOKEN}", for: [web], region: eu-west-1 }' }),
      'region stands without scheme: sigv4',
    ],
    [
      'has a session token for another scheme',
      capsule({ key: '{ value: "${TOKEN}", for: [web], session_token: "${TOKEN}" }' }),
      'session_token stands without scheme: sigv4',
    ],
    ['is renewed without a client', renewing({ user: '' }), 'with scheme: oauth2 has no user'],
    ['is renewed nowhere', renewing({ endpoint: '' }), 'with scheme: oauth2 has no token_endpoint'],
    [
      'is renewed over http',
      renewing({ endpoint: ', token_endpoint: "http://login.test/token"' }),
      'credentials.service.token_endpoint ',
    ],
    ['is renewed with a short secret', renewing({ more: ', client_secret: short' }), 'client_secret has fewer than 8'],
    ['is renewed in another header', renewing({ more: ', header: x-key' }), 'another header than authorization'],
    [
      'has a token endpoint for another scheme',
      signing({ more: ', token_endpoint: "https://login.test/token"' }),
      'token_endpoint stands without scheme: oauth2',
    ],
    [
      'has a scheme that is none',
      capsule({ key: '{ value: "${TOKEN}", for: [web], scheme: digest }' }),
      'one of bearer',
    ],
    ['goes over http', capsule({ host: 'http://api.test' }), 'over http'],
    ['has no scheme', capsule({ host: 'api.test' }), 'has no scheme'],
    ['has its host twice', capsule({ more: ', api.test' }), 'is granted by capabilities.network.allow[1] too'],
    ['has its host in two blocks', capsule({ more: ', { host: "https://api.test", rules: ["GET /**"] }' }), 'too'],
    ['is for the endpoint', capsule({ host: 'https://model.test' }), 'inference.endpoint'],
    ['has no host', `  credentials: { service: ${credential} }\n`, 'is named by no host'],
    [
      'is not there',
      '  network: { allow: [{ host: "https://api.test", credential: other }] }\n',
      'names none of capabilities.credentials',
    ],
    [
      'has a host of peers',
      `${capsule()}  peer_fetch: { allow: [peer.test, "api.test:443"] }\n`,
      'capabilities.peer_fetch.allow[1] is a host that capabilities.network.allow[0] holds to rules or a key',
    ],
    ['has a rule that is none', capsule({ entry: ', rules: ["/repos"]' }), 'is not a method and a path'],
    ['has a rule with two readings', capsule({ entry: ', rules: ["GET /a/../b"]' }), 'segment of dots'],
    [
      'has a foreign without it',
      '  network: { allow: [{ host: "https://api.test", rules: ["GET /**"], foreign: allow }] }\n',
      'without a credential',
    ],
    ['has keys that nobody knows', capsule({ entry: ', websocket: true' }), 'websocket'],
    ['takes a variable of svc', capsule({ key: '{ value: "${TOKEN}", for: [web], env: SVC_X }' }), 'must not be PATH'],
  ])('does not load when it %s', (_, capabilities, words) => {
    const said = refusals(capabilities);
    expect(said.join('\n')).toContain(words);
    expect(said.join('\n')).not.toContain('canary');
    expect(said.length).toBeGreaterThan(0);
  });

  it('does not load beside an entry that gives the key itself to a program', () => {
    const text = base.replace(
      'name: web, version: 1.0.0',
      'name: web, version: 1.0.0, env: { KEY: "Bearer ${TOKEN}", RAW: "${TOKEN}" }',
    );
    expect(refusals(capsule(), undefined, text)).toEqual([
      expect.stringMatching(/^E-CAP-030 artifacts\[0\]\.env\.RAW/),
    ]);
  });

  it('does not load beside an entry that gives a program what goes with the key', () => {
    const text = base.replace('name: web, version: 1.0.0', 'name: web, version: 1.0.0, env: { T: "${SESSION}" }');
    const env = { TOKEN: canary, SESSION: 'canary-session' };
    expect(refusals(signing({ more: ', session_token: "${SESSION}"' }), env, text)).toEqual([
      expect.stringMatching(/^E-CAP-030 artifacts\[0\]\.env\.T/),
    ]);
    expect(refusals(signing({ more: ', session_token: short' }))).toEqual([
      expect.stringContaining('session_token has fewer than 8 characters'),
    ]);
  });

  it('may be for this machine over http, and for a host that has rules alone', () => {
    expect(refusals(capsule({ host: 'http://127.0.0.1:8080' }))).toEqual([]);
    expect(refusals('  network: { allow: [{ host: "http://api.test", rules: ["GET /**"] }] }\n')).toEqual([]);
  });
});
