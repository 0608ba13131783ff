import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

import { describe, expect, it } from 'vitest';

import type { Environment } from '@svc/kit/environment.ts';
import { type NetworkDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { type MachineNetwork, machineNetwork } from './machine-network.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

function place(text: string): NetworkDestination {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(reading.reason);
  return reading.destination;
}

function network(allow: readonly string[], env: Environment): MachineNetwork {
  return machineNetwork({ endpoint: place('https://model.example'), networkAllow: allow.map(place) }, env);
}

describe('the proxies of a launch', () => {
  it('appear with the hosts that lie beyond them, without user and password', () => {
    const env = {
      HTTPS_PROXY: 'http://me:opensesame@proxy.example:3128',
      HTTP_PROXY: 'http://[fd00::1]:8080',
      NO_PROXY: 'direct.example',
    };
    const allow = [
      'a.example',
      'http://b.example',
      'c.example:8443',
      'direct.example',
      '127.0.0.1',
      'https://d.example',
    ];
    const { proxied, refusals, secrets } = network(allow, env);
    expect(proxied).toEqual({
      proxied: [
        { host: 'https://model.example', proxy: 'proxy.example:3128' },
        { host: 'https://a.example', proxy: 'proxy.example:3128' },
        { host: 'http://a.example', proxy: '[fd00::1]:8080' },
        { host: 'http://b.example', proxy: '[fd00::1]:8080' },
        { host: 'https://c.example:8443', proxy: 'proxy.example:3128' },
        { host: 'http://c.example:8443', proxy: '[fd00::1]:8080' },
        { host: 'https://d.example', proxy: 'proxy.example:3128' },
      ],
    });
    expect(refusals).toEqual([]);
    expect(secrets.map((secret) => secret.reveal())).toEqual([
      'opensesame',
      'opensesame',
      Buffer.from('me:opensesame').toString('base64'),
    ]);
  });

  it('share one line where they are the same', () => {
    const { proxied } = network(['a.example'], { ALL_PROXY: 'proxy.example' });
    expect(proxied.proxied?.[1]).toEqual({ host: 'a.example', proxy: 'proxy.example:80' });
  });

  it('make the launch fail where one cannot be used for a granted host, and not where none is asked', () => {
    const env = { ALL_PROXY: 'socks5://me:opensesame@proxy.example' };
    expect(network([], env).refusals).toMatchObject([
      { code: 'E-REG-006', message: 'ALL_PROXY is no proxy that svc can use' },
    ]);
    expect(network([], { ...env, NO_PROXY: '*' })).toMatchObject({ refusals: [], proxyFor: null, proxied: {} });
  });
});

describe('the authorities that programs trust', () => {
  let folder: string;
  eachFolder('svc-authorities-', (made) => void (folder = made));

  function file(name: string, text: string): string {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  }

  const [first = '', second = ''] = rootCertificates;
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  it('come from SSL_CERT_FILE and NODE_EXTRA_CA_CERTS, without a key that lies beside them', () => {
    const env = {
      SSL_CERT_FILE: file('whole.pem', `# ours\r\n${privateKey}${first}\n`),
      NODE_EXTRA_CA_CERTS: file('more.pem', `${second}\n${first}\n${privateKey}`),
    };
    expect(network(['a.example'], env).authorities).toBe(`${first}\n${second}\n`);
  });

  it('include those of the system where only more are named', () => {
    const { authorities } = network(['a.example'], { NODE_EXTRA_CA_CERTS: file('more.pem', first) });
    expect(authorities?.match(/BEGIN/g)?.length).toBeGreaterThan(20);
    expect(authorities).toContain(first);
  });

  it('stay unread for a capsule that has no granted host', () => {
    const env = { NODE_EXTRA_CA_CERTS: join(folder, 'absent.pem') };
    expect(network([], env)).toMatchObject({ authorities: null, warnings: [] });
  });

  it.each([
    ['is not there', null, 'there is no such file'],
    ['is empty', '', 'it holds no certificate in PEM'],
    ['is a key', privateKey, 'it holds no certificate in PEM'],
    ['is huge', 'x'.repeat(1024 * 1024 + 1), 'it is larger than 1 MiB'],
    ['never ends', first.replace(/-----END[^]*/, ''), 'it holds no certificate in PEM'],
  ])('cause a warning where the file %s', (_, text, why) => {
    const named = text === null ? join(folder, 'absent.pem') : file('named.pem', text);
    const { authorities, warnings } = network(['a.example'], { NODE_EXTRA_CA_CERTS: named });
    expect(authorities).toBe(null);
    expect(warnings).toMatchObject([
      {
        code: 'W-RUN-188',
        message: `programs get no certificates of ${named}, which NODE_EXTRA_CA_CERTS names: ${why}`,
      },
    ]);
  });
});
