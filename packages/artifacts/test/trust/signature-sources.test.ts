import { describe, expect, it } from 'vitest';

import { HttpClient } from '@svc/kit/net/http-client.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { installRelease, installRef, type InstallRequest } from '../../src/store/install.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { GithubApi, GithubSource } from '../../src/store/sources/github-source.ts';
import { RegistrySource } from '../../src/store/sources/registry-source.ts';
import { storeRoot, variantPaths } from '../../src/store/store-layout.ts';
import { signaturesBeside } from '../../src/store/trust/signature-bundle.ts';
import { FakeGithub, type FakeAsset } from '../sources/github-server.ts';
import { json, StandInServer } from '../sources/stand-in-server.ts';
import { archiveBytes, codesOf, toolFiles } from '../store/artifacts.ts';
import { acme, signedBy, trustingPlaces } from './trust-kit.ts';

const rule = '{ names: ["*"], signed_by: { key: acme } }';
const echo = { name: 'echo', version: '1.0.0' };

const archive = await archiveBytes(toolFiles('echo'));
const sha256 = sha256Hex(archive);
const bundle = await signedBy(acme, archive);

function requestFor(places: StorePlaces): InstallRequest {
  return {
    ...places,
    entries: [],
    prepare: () => Promise.resolve(),
    onSkills: () => Promise.resolve(),
    onStored: () => {},
    onWarning: () => {},
  };
}

const stored = ({ manifestDir }: StorePlaces): string => variantPaths(storeRoot(manifestDir), echo, null).archive;

describe('a release on GitHub', () => {
  const zip: FakeAsset = { name: 'echo-1.0.0.zip', bytes: archive };
  const apiOf = (github: FakeGithub): GithubApi => {
    const access = { apiUrl: github.api.url, repo: 'acme/echo', token: null, tokenName: 'GITHUB_TOKEN' };
    return new GithubApi(access, new HttpClient());
  };

  it.each([
    ['a file of bundles', { name: 'echo-1.0.0.zip.sigstore.jsonl', bytes: Buffer.from(`{}\n${bundle}\n`) }],
    [
      'one bundle',
      { name: 'echo-1.0.0.zip.sigstore.json', bytes: Buffer.from(JSON.stringify(JSON.parse(bundle), null, 2)) },
    ],
  ])('gives the signature that lies beside the archive as %s', async (_, signature) => {
    const github = await FakeGithub.open({ repo: 'acme/echo', releases: { 'v1.0.0': [zip, signature] } });
    const api = apiOf(github);
    const asSource = { ...trustingPlaces([rule], { keys: { acme } }), sources: () => [new GithubSource(api)] };
    await installRef(echo, requestFor(asSource));
    expect(signaturesBeside(stored(asSource)).join('')).toContain('messageSignature');
    const asRelease = trustingPlaces([rule], { keys: { acme } });
    await installRelease({ owner: 'acme', repo: 'echo', tag: 'v1.0.0' }, api, requestFor(asRelease));
    expect(signaturesBeside(stored(asRelease))).toEqual(signaturesBeside(stored(asSource)));
  });

  it('fails without one, where the forge attests nothing either', async () => {
    const github = await FakeGithub.open({ repo: 'acme/echo', releases: { 'v1.0.0': [zip] } });
    const places = trustingPlaces([rule], { keys: { acme } });
    const work = installRelease({ owner: 'acme', repo: 'echo', tag: 'v1.0.0' }, apiOf(github), requestFor(places));
    expect(await codesOf(work)).toEqual(['E-REG-011']);
    expect(github.api.lines).toContain(`GET /repos/acme/echo/attestations/sha256:${sha256}?per_page=16`);
  });

  it('gives what the forge attests of the archive, as it is', async () => {
    const forge = await StandInServer.open(
      json(200, { attestations: [{ bundle: null }, 'x', { bundle: JSON.parse(bundle) as object, repository_id: 1 }] }),
    );
    const api = new GithubApi(
      { apiUrl: forge.url, repo: 'acme/echo', token: new Secret('token'), tokenName: 'GITHUB_TOKEN' },
      new HttpClient(),
    );
    expect(await api.signaturesOf(null, sha256)).toEqual([bundle]);
    expect(forge.asked[0]?.headers['authorization']).toBe('Bearer token');
  });

  it.each([401, 403, 404])('has none when it answers %s for attestations', async (status) => {
    const forge = await StandInServer.open(json(status, { message: 'no' }));
    const access = { apiUrl: forge.url, repo: 'acme/echo', token: null, tokenName: 'GITHUB_TOKEN' };
    expect(await new GithubApi(access, new HttpClient()).signaturesOf(null, sha256)).toEqual([]);
  });
});

describe('a registry', () => {
  const locked = { ...echo, platform: null, sha256 };
  const sourceOf = ({ url }: StandInServer): RegistrySource => {
    return new RegistrySource({ url, key: null, keyName: 'REGISTRY_API_KEY' }, new HttpClient());
  };

  it.each([404, 405])('has no signatures when it answers %s', async (status) => {
    const server = await StandInServer.open(json(status, {}));
    expect(await sourceOf(server).signatures(locked)).toEqual([]);
    expect(server.lines).toEqual([`GET /v1/signatures/${sha256}`]);
  });

  it('does not count as one without signatures when it fails', async () => {
    const server = await StandInServer.open(json(500, { error: 'broken' }));
    expect(await codesOf(sourceOf(server).signatures(locked))).toEqual(['E-IO-003']);
  });

  it('counts to the 16th bundle, and to 1 MiB of them', async () => {
    const many = await StandInServer.open((_, response) => response.end('{}\n'.repeat(100)));
    expect(await sourceOf(many).signatures(locked)).toHaveLength(16);
    const much = await StandInServer.open((_, response) => response.end('x'.repeat(2 * 1024 * 1024)));
    expect(await codesOf(sourceOf(much).signatures(locked))).toEqual(['E-IO-003']);
  });
});
