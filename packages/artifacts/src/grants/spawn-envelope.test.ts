import { describe, expect, it } from 'vitest';

import { loadCapsuleManifest } from '../manifest/load.ts';
import { lower } from './effective-grants.ts';
import { envelopeOf, firstExcess, type SpawnEnvelope } from './spawn-envelope.ts';

/** The envelope of a capsule; `text` is what its manifest says beside name, version and inference. */
function envelope(name: string, text: string, env: Readonly<Record<string, string>> = {}): SpawnEnvelope {
  const manifest = `name: ${name}\nversion: 1.0.0\ninference: { transport: process, command: agent }\n${text}\n`;
  const loaded = loadCapsuleManifest({ file: 'svc.yaml', text: manifest, env, purpose: 'inspect' });
  return envelopeOf(lower(loaded).grants, loaded.references);
}

/** What is said when a capsule called `parent` asks for one called `child`. */
function verdict(parent: string, child: string): string {
  return firstExcess(envelope('parent', parent), envelope('child', child))?.message ?? 'within';
}

function capabilities(block: string): string {
  return block === '' ? '' : `capabilities: { ${block} }`;
}

describe('of network destinations', () => {
  it.each([
    ['a.example', 'a.example', 'within'],
    ['a.example', 'A.Example', 'within'],
    ['a.example', 'a.example:8080', 'within'],
    ['a.example', 'http://a.example', 'within'],
    ['a.example', 'https://a.example:8443', 'within'],
    ['a.example', 'b.example', '"b.example"'],
    ['a.example', 'sub.a.example', '"sub.a.example"'],
    ['a.example', 'a.example.evil.example', '"a.example.evil.example"'],
    ['a.example:8080', 'a.example:8080', 'within'],
    ['a.example:8080', 'http://a.example:8080', 'within'],
    ['a.example:8080', 'https://a.example:8080', 'within'],
    ['a.example:8080', 'a.example', '"a.example"'],
    ['a.example:8080', 'a.example:8081', '"a.example:8081"'],
    ['https://a.example', 'https://a.example:443', 'within'],
    ['https://a.example:443', 'https://a.example', 'within'],
    ['https://a.example', 'http://a.example', '"http://a.example"'],
    ['https://a.example', 'a.example', '"a.example"'],
    ['https://a.example', 'a.example:443', '"a.example:443"'],
    ['https://a.example', 'https://a.example:8443', '"https://a.example:8443"'],
  ])('%s over %s: %s', (held, declared, expected) => {
    for (const block of ['network', 'peer_fetch']) {
      const said = verdict(
        capabilities(`${block}: { allow: ["${held}"] }`),
        capabilities(`${block}: { allow: ["${declared}"] }`),
      );
      const refusal = `capabilities.${block}.allow: the child declares ${expected}, which no entry of the parent covers`;
      expect(said).toBe(expected === 'within' ? 'within' : refusal);
    }
  });

  it('every entry counts, and the first that is not covered is named [D2-ERR-22]', () => {
    const parent = capabilities('network: { allow: [a.example, b.example] }');
    expect(verdict(parent, capabilities('network: { allow: [b.example, a.example] }'))).toBe('within');
    const excess = firstExcess(
      envelope('parent', parent),
      envelope('child', capabilities('network: { allow: [b.example, "https://c.example:443", d.example] }')),
    );
    expect(excess).toEqual({
      key: 'capabilities.network.allow',
      declared: 'https://c.example',
      message:
        'capabilities.network.allow: the child declares "https://c.example", which no entry of the parent covers',
    });
  });

  it('one entry has to cover another alone: two schemes of a port are not the port', () => {
    const parent = capabilities('network: { allow: ["http://a.example:90", "https://a.example:90"] }');
    expect(verdict(parent, capabilities('network: { allow: ["a.example:90"] }'))).toContain('"a.example:90"');
  });

  it('peer fetch and network are two lists, and neither stands for the other', () => {
    const network = capabilities('network: { allow: [a.example] }');
    const peerFetch = capabilities('peer_fetch: { allow: [a.example] }');
    expect(verdict(network, peerFetch)).toContain('capabilities.peer_fetch.allow: ');
    expect(verdict(peerFetch, network)).toContain('capabilities.network.allow: ');
  });

  it('the endpoint of inference does not belong to them', () => {
    const text =
      'name: child\nversion: 1.0.0\ninference: { model: m, endpoint: "https://a.example", driver: { artifact: svc-driver-openai } }\n';
    const loaded = loadCapsuleManifest({ file: 'svc.yaml', text, env: {} });
    const child = envelopeOf(lower(loaded).grants);
    expect(child.networkAllow).toEqual([]);
    expect(firstExcess(envelope('parent', ''), child)).toBeNull();
  });
});

describe('of names', () => {
  it.each([
    ['shell', 'git', 'curl'],
    ['spawn', 'helper', 'other'],
    ['env', 'LANG', 'lang'],
  ])('%s has every name of the child in the list of the parent', (block, held, other) => {
    const parent = capabilities(`${block}: { allow: [x1, ${held}] }`);
    expect(verdict(parent, '')).toBe('within');
    expect(verdict(parent, capabilities(`${block}: { allow: [${held}] }`))).toBe('within');
    expect(verdict(parent, capabilities(`${block}: { allow: [${held}, x1] }`))).toBe('within');
    const refusal = `capabilities.${block}.allow: the child declares "${other}", which the parent does not`;
    expect(verdict(parent, capabilities(`${block}: { allow: [${held}, ${other}] }`))).toBe(refusal);
    expect(verdict('', capabilities(`${block}: { allow: [${other}] }`))).toBe(refusal);
  });

  it('a name that only begins alike is another one', () => {
    expect(verdict(capabilities('shell: { allow: [git] }'), capabilities('shell: { allow: [git-upload-pack] }'))).toBe(
      'capabilities.shell.allow: the child declares "git-upload-pack", which the parent does not',
    );
  });
});

describe('of paths of the host', () => {
  const reads = (...paths: readonly string[]): string =>
    capabilities(`filesystem: { host_read: ${JSON.stringify(paths)} }`);

  it.each([
    ['/opt/sdk', '/opt/sdk', 'within'],
    ['/opt/sdk', '/opt//sdk/./lib/', 'within'],
    ['/opt/sdk', '/opt/sdk-2', '"/opt/sdk-2"'],
    ['/opt/sdk', '/opt', '"/opt"'],
    ['/opt/sdk/lib', '/opt/sdk', '"/opt/sdk"'],
  ])('%s over %s: %s', (held, declared, expected) => {
    const refusal = `capabilities.filesystem.host_read: the child declares ${expected}, which is within no path of the parent`;
    expect(verdict(reads('/srv/a', held), reads(declared, '/srv/a'))).toBe(expected === 'within' ? 'within' : refusal);
    expect(verdict('', reads(declared))).toContain('capabilities.filesystem.host_read: the child declares "/opt');
    expect(verdict(reads(held), '')).toBe('within');
  });

  it('the value of a variable stands there as its reference', () => {
    const child = envelope('child', 'capabilities: { filesystem: { host_read: ["${SDK}"] } }', { SDK: '/opt/secret/' });
    expect(firstExcess(envelope('parent', ''), child)?.declared).toBe('${SDK}');
  });
});

describe('of flags', () => {
  it.each([
    ['network', 'unix_sockets'],
    ['filesystem', 'workdir_exec'],
  ])('true of the child needs true of the parent: capabilities.%s.%s', (block, key) => {
    const yes = capabilities(`${block}: { ${key}: true }`);
    const no = capabilities(`${block}: { ${key}: false }`);
    const refusal = `capabilities.${block}.${key}: the child declares true, which the parent does not`;
    expect(verdict(yes, yes)).toBe('within');
    expect(verdict(yes, no)).toBe('within');
    expect(verdict(yes, '')).toBe('within');
    expect(verdict(no, no)).toBe('within');
    expect(verdict(no, yes)).toBe(refusal);
    expect(verdict('', yes)).toBe(refusal);
  });
});

describe('of the filesystem scope', () => {
  const scope = (path: string): string => (path === '' ? '' : capabilities(`filesystem: { scope: "${path}" }`));

  it.each(['', '.', 'out', 'out/deep'])('a parent without one covers %j', (child) => {
    expect(verdict('', scope(child))).toBe('within');
  });

  it.each([
    ['out', 'out', 'within'],
    ['out', './out/', 'within'],
    ['out', 'out/deep/er', 'within'],
    ['out/deep', 'out', 'the child declares "out", which is not within "out/deep" of the parent'],
    ['out', 'outer', 'the child declares "outer", which is not within "out" of the parent'],
    ['out', 'data', 'the child declares "data", which is not within "out" of the parent'],
    ['out', '.', 'the child declares ".", which is not within "out" of the parent'],
    ['out', '', 'the child declares none and sees its whole workdir, the parent only "out"'],
    ['.', 'data', 'within'],
    ['.', '', 'the child declares none and sees its whole workdir, the parent only "."'],
  ])('a parent with %j and a child with %j: %s', (parent, child, expected) => {
    const said = verdict(scope(parent), scope(child));
    expect(said).toBe(expected === 'within' ? 'within' : `capabilities.filesystem.scope: ${expected}`);
  });
});

describe('a program that only artifacts run', () => {
  const runs = (names: string): string => `artifacts: [{ name: notes, version: 1.0.0, runs: ${names} }]`;

  it.each([
    [runs('[node, npx]'), runs('[node]'), 'within'],
    [runs('[node]'), runs('[npx]'), 'the child declares "npx", which the parent does not'],
    [capabilities('shell: { allow: [node] }'), runs('[node]'), 'the child declares "node", which the parent does not'],
  ])('a parent with %s and a child with %s: %s', (parent, child, expected) => {
    expect(verdict(parent, child)).toBe(expected === 'within' ? expected : `artifacts[].runs: ${expected}`);
  });

  it('never counts as a command that a child may give to its model', () => {
    expect(verdict(runs('[node]'), capabilities('shell: { allow: [node] }'))).toMatch(/^capabilities\.shell\.allow: /);
  });
});

describe('an MCP server on the web', () => {
  const server = (url: string): string => `artifacts: [{ name: web, version: 1.0.0, from: "mcp+${url}" }]`;

  it.each([
    [server('https://a.example/mcp'), server('https://a.example/other'), 'within'],
    [server('https://a.example/mcp'), server('https://b.example/mcp'), '"https://b.example"'],
    [capabilities('network: { allow: [a.example] }'), server('https://a.example/mcp'), '"https://a.example"'],
  ])('a parent with %s and a child with %s: %s', (parent, child, expected) => {
    const excess = `artifacts[].from: the child declares ${expected}, which the parent does not`;
    expect(verdict(parent, child)).toBe(expected === 'within' ? expected : excess);
  });
});

describe('a state store', () => {
  const opens = (name: string): string =>
    `capabilities.state.store: an artifact of the child opens "${name}", which none of the parent does`;
  const tool = (state: string): string => `artifacts: [{ name: editor, version: 1.0.0${state} }]`;
  const stores = (list: string): string => tool(`, capabilities: { state: { store: ${list} } }`);

  it.each([
    ['notes', 'notes', 'within'],
    ['[notes, drafts]', 'drafts', 'within'],
    ['[notes, drafts]', '[drafts, notes]', 'within'],
    ['notes', '[notes, drafts]', opens('drafts')],
  ])('a parent whose artifact opens %s and a child whose opens %s: %s', (parent, child, expected) => {
    expect(verdict(stores(parent), stores(child))).toBe(expected);
  });

  it('what counts is the artifacts together, whichever of them opens a store', () => {
    const two = `artifacts:
  - { name: editor, version: 1.0.0, capabilities: { state: { store: notes } } }
  - { name: watcher, version: 1.0.0, runtime: hook, capabilities: { state: { store: drafts } } }`;
    expect(verdict(two, stores('[drafts, notes]'))).toBe('within');
    expect(verdict(stores('notes'), two)).toBe(opens('drafts'));
  });

  it('a store of the capsule is opened by each artifact that declares none, and by none that is not there', () => {
    const held = 'capabilities: { state: { store: notes } }';
    expect(verdict('', `${tool('')}\n${held}`)).toBe(opens('notes'));
    expect(verdict(`${tool('')}\n${held}`, stores('notes'))).toBe('within');
    expect(verdict(held, stores('notes'))).toBe(opens('notes'));
    expect(verdict('', held)).toBe('within');
  });

  it('without a name gets the name of the capsule itself', () => {
    const unnamed = tool(', capabilities: { state: {} }');
    expect(verdict(unnamed, unnamed)).toBe(opens('child'));
    expect(verdict(stores('child'), unnamed)).toBe('within');
    expect(verdict(unnamed, stores('parent'))).toBe('within');
  });
});

describe('of containment', () => {
  const floor = (name: string): string => (name === '' ? '' : capabilities(`containment: ${name}`));

  it.each([
    ['', '', 'within'],
    ['', 'advisory', 'within'],
    ['', 'sealed', 'within'],
    ['advisory', '', 'within'],
    ['advisory', 'scoped', 'within'],
    ['scoped', 'scoped', 'within'],
    ['scoped', 'sealed', 'within'],
    ['scoped', 'advisory', 'the child declares advisory, which is below scoped of the parent'],
    ['scoped', '', 'the child declares none, which is below scoped of the parent'],
    ['sealed', 'sealed', 'within'],
    ['sealed', 'scoped', 'the child declares scoped, which is below sealed of the parent'],
    ['sealed', '', 'the child declares none, which is below sealed of the parent'],
  ])('a floor of %j over one of %j: %s', (parent, child, expected) => {
    const said = verdict(floor(parent), floor(child));
    expect(said).toBe(expected === 'within' ? 'within' : `capabilities.containment: ${expected}`);
  });
});

describe('the axes together', () => {
  const everything = `
artifacts: [{ name: editor, version: 1.0.0, capabilities: { state: { store: notes } } }]
capabilities:
  network: { allow: [a.example], unix_sockets: true }
  peer_fetch: { allow: [a.example] }
  shell: { allow: [git] }
  spawn: { allow: [helper] }
  env: { allow: [LANG] }
  filesystem: { workdir_exec: true }`;
  const holding: readonly (readonly [string, (parent: SpawnEnvelope, child: SpawnEnvelope) => SpawnEnvelope])[] = [
    ['capabilities.network.allow', (parent, child) => ({ ...parent, networkAllow: child.networkAllow })],
    ['capabilities.network.unix_sockets', (parent) => ({ ...parent, unixSockets: true })],
    ['capabilities.peer_fetch.allow', (parent, child) => ({ ...parent, peerFetchAllow: child.peerFetchAllow })],
    ['capabilities.shell.allow', (parent) => ({ ...parent, shellAllow: ['git'] })],
    ['capabilities.spawn.allow', (parent) => ({ ...parent, spawnAllow: ['helper'] })],
    ['capabilities.env.allow', (parent) => ({ ...parent, envAllow: ['LANG'] })],
    ['capabilities.filesystem.scope', (parent) => ({ ...parent, filesystemScope: null })],
    ['capabilities.filesystem.workdir_exec', (parent) => ({ ...parent, workdirExec: true })],
    ['capabilities.state.store', (parent) => ({ ...parent, stateStores: ['notes'] })],
    ['capabilities.containment', (parent) => ({ ...parent, containmentFloor: null })],
  ];

  it('follow the order of the table', () => {
    const child = envelope('child', everything);
    let parent = envelope('parent', 'capabilities: { containment: sealed, filesystem: { scope: out } }');
    for (const [key, grant] of holding) {
      expect(firstExcess(parent, child)?.key).toBe(key);
      parent = grant(parent, child);
    }
    expect(firstExcess(parent, child)).toBeNull();
  });

  it('leave both envelopes as they are', () => {
    const parent = envelope('parent', '');
    const child = envelope('child', everything);
    const before = structuredClone([parent, child]);
    firstExcess(parent, child);
    expect([parent, child]).toEqual(before);
  });

  it('what is compared is nothing else: limits, plans and read-only access are the capsule’s own affair', () => {
    const child = `capabilities:
  plan: { submit: true }
  limits: { memory: 4Gi, deadline: 2h }
  resources: { processes: 4096 }`;
    expect(verdict('capabilities: { filesystem: { read_only: true } }', child)).toBe('within');
  });
});

describe('a value that came from a variable', () => {
  const env = { SECRET: 'S3cr3t', HOST: 'HTTPS://In.Example:443', PLACE: './deep/down/' };
  const said = (parent: string, child: string): string | undefined =>
    firstExcess(envelope('parent', parent, env), envelope('child', child, env))?.message;

  it.each([
    [
      'shell: { allow: ["${SECRET}"] }',
      'capabilities.shell.allow: the child declares "${SECRET}", which the parent does not',
    ],
    [
      'network: { allow: ["${HOST}"] }',
      'capabilities.network.allow: the child declares "${HOST}", which no entry of the parent covers',
    ],
    [
      'filesystem: { scope: "${PLACE}" }',
      'capabilities.filesystem.scope: the child declares "${PLACE}", which is not within "out" of the parent',
    ],
  ])('stays hidden behind its reference: %s', (block, message) => {
    const parent = block.startsWith('filesystem') ? 'filesystem: { scope: out }' : '';
    expect(said(capabilities(parent), capabilities(block))).toBe(message);
  });

  it('stays hidden for the parent too', () => {
    expect(said(capabilities('filesystem: { scope: "${PLACE}" }'), '')).toBe(
      'capabilities.filesystem.scope: the child declares none and sees its whole workdir, the parent only "${PLACE}"',
    );
  });

  it('takes part in the comparison', () => {
    expect(said(capabilities('shell: { allow: [S3cr3t] }'), capabilities('shell: { allow: ["${SECRET}"] }'))).toBe(
      undefined,
    );
  });
});
