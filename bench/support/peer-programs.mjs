// @ts-check
// Lists whom rows are measured against, in which version, and who is left out.
import { readFile } from 'node:fs/promises';

import { murmurRows } from '../murmur.mjs';
import { installBubblewrap } from './bubblewrap.mjs';
import { installedVersion } from './debian-package.mjs';
import { bringMurmur, murmurVersion } from './murmur.mjs';
import { installPeers } from './peers.mjs';
import { codex, sandboxRuntime, sandlock } from './sandboxes.mjs';

/**
 * `bring` answers the version that is there, which is to be `version`, and rejects with the reason why the peer is missing. What takes many minutes
 * or hundreds of megabytes is heavy: its rows are measured when they are asked for.
 * @typedef {{ name: string, version: string, rows: readonly string[], bring: () => Promise<string>, isHeavy?: boolean }} Peer
 * @typedef {{ name: string, version: string, why: string }} LeftOut `why` is a clause for a person.
 */

/** @type {readonly Peer[]} */
export const peers = [
  ofNpm('verdaccio', '6.8.0', ['registry-publish', 'registry-download', 'registry-memory']),
  ofNpm('better-sse', '0.16.1', ['stream-better-sse', 'stream-better-sse-single']),
  ofNpm('@a2a-js/sdk', '1.3.0', ['stream-a2a', 'stream-a2a-single', 'a2a-stream-sdk']),
  { name: 'bubblewrap', version: '0.8.0', rows: ['contained-bubblewrap'], bring: installBubblewrap },
  {
    name: 'nginx',
    version: '1.22.1',
    rows: ['registry-nginx', 'resource-1kb', 'resource-1mb', 'resource-100mb'],
    bring: () => installedVersion({ program: 'nginx', versionFlag: '-v', debianPackage: 'nginx-light' }),
  },
  {
    name: 'Murmur',
    version: murmurVersion,
    rows: murmurRows.map(({ name }) => name),
    isHeavy: true,
    bring: bringMurmur,
  },
  ofSandbox(codex),
  ofSandbox(sandboxRuntime),
  ofSandbox(sandlock),
];

/** @type {readonly LeftOut[]} */
export const leftOut = [
  {
    name: 'nono',
    version: '0.81.0',
    why: 'its command is built by Cargo for many minutes, and no row was tried with it',
  },
  {
    name: 'landrun',
    version: '0.1.15',
    why: 'its module could not be had from the module proxy of Go, so no row was tried with it',
  },
  {
    name: 'wasmtime',
    version: '48',
    why: 'it runs a component in its own process, and svc in one that holds nothing else',
  },
];

/**
 * What a line of the table of peers says: the version that is there, or why the peer is missing.
 * @param {Peer} peer
 * @returns {Promise<{ isThere: boolean, said: string }>}
 */
export async function broughtPeer({ version, bring }) {
  try {
    const said = await bring();
    const found = /\d+\.\d+\.\d+/.exec(said)?.[0] ?? said;
    return { isThere: true, said: found === version ? found : `${found}, and the rows were written with ${version}` };
  } catch (error) {
    return { isThere: false, said: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * A peer of `bench/package.json`.
 * @param {string} name
 * @param {string} version
 * @param {readonly string[]} rows
 * @returns {Peer}
 */
function ofNpm(name, version, rows) {
  const manifest = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  const bring = async () => {
    await installPeers();
    return /** @type {{ version: string }} */ (JSON.parse(await readFile(manifest, 'utf8'))).version;
  };
  return { name, version, rows, bring };
}

/**
 * @param {Pick<import('./sandboxes.mjs').Sandbox, 'name' | 'version' | 'bring' | 'row'>} sandbox
 * @returns {Peer}
 */
function ofSandbox({ name, version, bring, row }) {
  return { name, version, rows: [row], bring, isHeavy: true };
}
