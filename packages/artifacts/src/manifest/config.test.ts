import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadUserConfig, loadWorkspaceConfig } from './config.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let directory = '';

eachFolder('config-', (made) => {
  directory = made;
  mkdirSync(join(directory, '.svc'));
});

function write(text: string): void {
  writeFileSync(join(directory, '.svc', 'config.yaml'), text);
}

function refusal(load: () => unknown): string[] {
  try {
    load();
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(
      ({ code, message, location }) => `${code} ${location?.line}:${location?.column} ${message}`,
    );
  }
  return [];
}

const workspaceRefusal = (): string[] => refusal(() => loadWorkspaceConfig({ directory, env: {} }));
const userRefusal = (): string[] => refusal(() => loadUserConfig({ home: directory, env: {} }));

describe('the workspace configuration', () => {
  it.each(['none', 'meta', 'content'])('sets the ceiling %s of what journals keep', (capture) => {
    write(`trace: { capture: ${capture} }\n`);
    expect(loadWorkspaceConfig({ directory, env: {} })).toEqual({ captureCeiling: capture, warnings: [] });
  });

  it.each(['advisory', 'scoped', 'sealed'])('sets the containment floor %s [D1-CONF-01]', (containment) => {
    write(`containment: ${containment}\n`);
    expect(loadWorkspaceConfig({ directory, env: {} })).toEqual({ containment, warnings: [] });
  });

  it('sets nothing when it is missing or empty', () => {
    expect(loadWorkspaceConfig({ directory, env: {} })).toEqual({ warnings: [] });
    write('');
    expect(loadWorkspaceConfig({ directory, env: {} })).toEqual({ warnings: [] });
  });

  it('refuses any other floor and warns of any other key', () => {
    write('containment: maximum\ncontainement: sealed\n');
    expect(workspaceRefusal()).toEqual([
      'E-MAN-003 1:14 containment must be one of advisory, scoped, sealed, not "maximum"',
      'W-SEC-019 2:1 containement in line 2 is not a known key and was ignored',
    ]);
  });

  it('gives a coded error when it is not YAML or cannot be read', () => {
    write('containment: [\n');
    expect(workspaceRefusal()[0]).toMatch(/^E-MAN-002 /);
    rmSync(join(directory, '.svc', 'config.yaml'));
    mkdirSync(join(directory, '.svc', 'config.yaml'));
    expect(() => loadWorkspaceConfig({ directory, env: {} })).toThrow(/cannot read .*: it is a directory/);
  });
});

describe('the user configuration', () => {
  const sources = `registry:
  default: ours
  sources:
    - { name: ours, type: github, repo: acme/tools, token: "\${ACME_TOKEN}" }
    - { name: lab, type: registry, url: "https://registry.example/" }
`;

  it('lists sources, and names the one that is used by default [D1-CONF-02] [D1-CONF-03]', () => {
    write(sources);
    const config = loadUserConfig({ home: directory, env: {} });
    expect(config.sources).toMatchObject([
      { name: 'ours', type: 'github', repo: 'acme/tools' },
      { name: 'lab', type: 'registry', url: 'https://registry.example' },
    ]);
    expect(config.defaultSource?.name).toBe('ours');
    expect(config.sources[1]?.token()).toBeUndefined();
  });

  it('takes a token from the environment, as a secret [D1-CONF-04] [D1-AUTH-03]', () => {
    write(sources);
    const { defaultSource } = loadUserConfig({ home: directory, env: { ACME_TOKEN: 'ghp_1' } });
    expect(defaultSource?.token()?.reveal()).toBe('ghp_1');
    expect(String(defaultSource?.token())).toBe('[secret]');
  });

  it('misses a token only when its source is used', () => {
    write(sources);
    const { defaultSource } = loadUserConfig({ home: directory, env: {} });
    expect(() => defaultSource?.token()).toThrow(
      'the token of registry source ours refers to ACME_TOKEN, which is not set',
    );
  });

  it('takes a mirror of an OCI registry', () => {
    const [url, mirror] = ['oci://registry.example/acme/', 'oci://mirror.example/copies/'];
    write(`registry: { sources: [{ name: hub, type: oci, url: "${url}", mirror: "${mirror}" }] }\n`);
    expect(loadUserConfig({ home: directory, env: {} }).sources).toMatchObject([
      { name: 'hub', type: 'oci', url: 'oci://registry.example/acme', mirror: 'oci://mirror.example/copies' },
    ]);
  });

  it('counts as empty when it is missing', () => {
    expect(loadUserConfig({ home: directory, env: {} })).toEqual({ sources: [], warnings: [] });
  });

  it('fails with every mistake at once, and shows no token', () => {
    write(`registry:
  default: ous
  sources:
    - { name: ours, type: github, repo: acme, token: [ghp_secret] }
    - { name: ours, type: registry }
    - { name: other, type: svn }
    - { name: lab, type: registry, url: "https://registry.example/v1/" }
    - { name: plain, type: registry, url: "http://registry.example" }
    - { name: hub, type: oci, url: "https://registry.example/acme" }
    - { name: tagged, type: oci, url: "oci://registry.example/acme:1" }
    - { name: odd, type: registry, url: "oci://registry.example/acme" }
    - { name: far, type: oci, url: "oci://registry.example/acme", mirror: "https://mirror.example/acme" }
    - { name: bare, type: github, repo: acme/tools, mirror: "oci://mirror.example/acme" }
`);
    expect(userRefusal()).toEqual([
      'E-MAN-003 2:12 registry.default names "ous", which registry.sources does not list',
      'E-MAN-003 4:41 registry.sources[0].repo must be <owner>/<repo>, not "acme"',
      'E-MAN-003 4:54 registry.sources[0].token must be text, not a list',
      'E-MAN-001 5:7 registry.sources[1].url is missing, type: registry needs it',
      'E-MAN-003 5:15 registry.sources[1].name repeats "ours"',
      'E-MAN-003 6:28 registry.sources[2].type must be one of github, registry, oci, not "svn"',
      'E-MAN-003 7:41 registry.sources[3].url must be without /v1, not "https://registry.example/v1/"',
      'E-MAN-003 8:43 registry.sources[4].url must be https, or http to a loopback address, not "http://registry.example"',
      'E-MAN-003 9:36 registry.sources[5].url must begin with oci://, as its type is oci',
      'E-MAN-003 10:39 registry.sources[6].url must be oci://<host>/<path>, in small letters and without a tag, not "oci://registry.example/acme:1"',
      'E-MAN-003 11:41 registry.sources[7].url must be an http or https address, as its type is registry',
      'E-MAN-003 12:75 registry.sources[8].mirror must be oci://<host>/<path>, in small letters and without a tag, not "https://mirror.example/acme"',
      'E-MAN-003 13:61 registry.sources[9].mirror is for type: oci alone',
    ]);
  });
});
