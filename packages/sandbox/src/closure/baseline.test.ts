import { describe, expect, it } from 'vitest';

import { plantHost } from '../../test/closure-support/planted-host.ts';
import { baselineFiles } from '../../test/closure-support/collected.ts';

describe('the baseline', () => {
  it('has the files for names, customs and certificates, and nothing else of /etc', () => {
    const host = plantHost({
      '/etc/passwd': 'x',
      '/etc/shadow': 'x',
      '/etc/ssl/certs/a.pem': { linkTo: '/usr/share/ca-certificates/a.crt' },
      '/etc/ssl/private/key.pem': 'x',
      '/usr/share/ca-certificates/a.crt': 'x',
      '/usr/lib/ssl/private': { linkTo: '/etc/ssl/private' },
      '/usr/lib/ssl/certs': { linkTo: '/etc/ssl/certs' },
      '/etc/localtime': { linkTo: '/usr/share/zoneinfo/Europe/Rome' },
      '/usr/share/zoneinfo/Europe/Rome': 'x',
      '/usr/lib/x86_64-linux-gnu/gconv/gconv-modules': 'x',
      '/usr/lib/secret': 'x',
    });
    expect(baselineFiles(host)).toEqual({
      read: [
        '/etc/passwd',
        '/etc/ssl/certs',
        '/usr/lib/x86_64-linux-gnu/gconv',
        '/usr/share/ca-certificates',
        '/usr/share/zoneinfo',
      ],
      execute: [],
      links: [
        { path: '/etc/localtime', target: '/usr/share/zoneinfo/Europe/Rome' },
        { path: '/usr/lib/ssl/certs', target: '/etc/ssl/certs' },
      ],
      problems: [],
    });
  });

  it('keeps the old names of directories, by which scripts name their interpreters, and nothing in them', () => {
    const host = plantHost({
      '/bin': { linkTo: 'usr/bin' },
      '/usr/bin/sh': 'x',
      '/sbin/init': 'x',
      '/lib64': { linkTo: 'usr/lib64' },
    });
    expect(baselineFiles(host)).toEqual({
      read: [],
      execute: [],
      links: [{ path: '/bin', target: 'usr/bin' }],
      problems: [],
    });
  });

  it('follows the list of name servers to where it is kept, and takes that file alone', () => {
    const host = plantHost({
      '/etc/resolv.conf': { linkTo: '../run/systemd/resolve/stub-resolv.conf' },
      '/run/systemd/resolve/stub-resolv.conf': 'x',
      '/run/systemd/resolve/io.systemd.Resolve': 'x',
    });
    expect(baselineFiles(host)).toMatchObject({
      read: ['/run/systemd/resolve/stub-resolv.conf'],
      links: [{ path: '/etc/resolv.conf', target: '../run/systemd/resolve/stub-resolv.conf' }],
    });
  });

  it.each([
    [
      'Fedora',
      {
        '/etc/pki/tls/certs/ca-bundle.crt': { linkTo: '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem' },
        '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem': 'x',
        '/etc/pki/tls/private/localhost.key': 'x',
        '/etc/pki/tls/openssl.cnf': 'x',
      },
      ['/etc/pki/ca-trust/extracted', '/etc/pki/tls/openssl.cnf'],
    ],
    [
      'Alpine',
      { '/etc/ssl/cert.pem': { linkTo: 'certs/ca-certificates.crt' }, '/etc/ssl/certs/ca-certificates.crt': 'x' },
      ['/etc/ssl/certs'],
    ],
    [
      'Arch',
      {
        '/etc/ssl/certs/ca-certificates.crt': { linkTo: '../../ca-certificates/extracted/tls-ca-bundle.pem' },
        '/etc/ca-certificates/extracted/tls-ca-bundle.pem': 'x',
        '/etc/ca-certificates/trust-source/blocklist/x': 'x',
      },
      ['/etc/ca-certificates/extracted', '/etc/ssl/certs'],
    ],
    [
      'openSUSE',
      {
        '/etc/ssl/ca-bundle.pem': { linkTo: '../../var/lib/ca-certificates/ca-bundle.pem' },
        '/var/lib/ca-certificates/ca-bundle.pem': 'x',
      },
      ['/var/lib/ca-certificates/ca-bundle.pem'],
    ],
  ])('knows where %s keeps its certificates', (_, tree, read) => {
    expect(baselineFiles(plantHost(tree)).read).toEqual(read);
  });
});
