import { expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadCapsuleManifest } from './load.ts';
import type { LoadedManifest } from './loaded-manifest.ts';

const smallest = `
name: researcher
version: 1.0.0
inference: { endpoint: "https://provider.example", model: large, driver: { artifact: svc-driver-openai } }
`;

function load(text: string): LoadedManifest {
  return loadCapsuleManifest({ file: 'svc.yaml', text, env: {} });
}

/** `CODE message` of every diagnostic that refuses the manifest. */
function refusal(text: string): string[] {
  try {
    load(text);
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(({ code, message }) => `${code} ${message}`);
  }
  return [];
}

it('an entry of artifacts sets variables for the program of a tool, and no variable that svc keeps to itself', () => {
  const listing = (row: string): string => `${smallest}artifacts: [{ name: echo, version: 1.0.0, ${row} }]\n`;
  const text = listing('env: { LOG_LEVEL: debug, API_KEY: "${KEY}" }');
  const { manifest, references } = loadCapsuleManifest({ file: 'svc.yaml', text, env: { KEY: 'sk-1' } });
  expect(manifest.artifacts[0]?.env).toEqual({ LOG_LEVEL: 'debug', API_KEY: 'sk-1' });
  expect(references).toMatchObject([{ variable: 'KEY', value: 'sk-1' }]);
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'LD_PRELOAD', 'SVC_SESSION_ID', 'OTEL_X', '1A', 'A-B', '""']) {
    expect(refusal(listing(`env: { ${name}: x }`)), name).toEqual([expect.stringMatching(/^E-MAN-003 .* must /)]);
  }
  expect(refusal(listing('env: { A: 1 }'))).toEqual(['E-MAN-003 artifacts[0].env.A must be text, not a number']);
  expect(refusal(listing(`env: { A: "${'x'.repeat(32 * 1024 + 1)}" }`))).toHaveLength(1);
  const many = Array.from({ length: 65 }, (_, index) => `V${index}: x`).join(', ');
  expect(refusal(listing(`env: { ${many} }`))).toEqual([expect.stringContaining('.env must set at most 64 variables')]);
  expect(refusal(listing('runtime: skill, env: { A: x }'))).toEqual([
    'E-MAN-003 artifacts[0].env is not allowed: it is for the program of a tool',
  ]);
});

it('an entry of artifacts chooses tools of a server by their names', () => {
  const listing = (row: string): string => `${smallest}artifacts: [{ name: echo, version: 1.0.0, ${row} }]\n`;
  const { manifest } = load(listing('tools: [read_file, a.b]'));
  expect(manifest.artifacts[0]?.tools).toEqual(['read_file', 'a.b']);
  expect(refusal(listing('tools: [a b]'))).toEqual([
    'E-MAN-003 artifacts[0].tools[0] must be a name of a tool, in which * stands for any part',
  ]);
  expect(refusal(listing('tools: []'))).toHaveLength(1);
  expect(refusal(listing('tools: [read_file, "search_*"]'))).toEqual([]);
  expect(refusal(listing('tools: capsule'))).toEqual(['E-MAN-003 artifacts[0].tools: capsule is for a skill']);
  expect(refusal(listing('runtime: skill, tools: capsule'))).toEqual([]);
  expect(refusal(listing('runtime: skill, tools: [Read, "Bash(git diff:*)"]'))).toEqual([]);
  expect(refusal(listing('runtime: hook, tools: [a]'))).toEqual([
    'E-MAN-003 artifacts[0].tools is not allowed: it chooses tools of an MCP server, and limits a skill',
  ]);
});

it('an entry of artifacts gives tools of a server other names, each of which is one tool', () => {
  const listing = (row: string): string => `${smallest}artifacts: [{ name: linear, version: 1.0.0, ${row} }]\n`;
  const { manifest } = load(listing('tools: ["list_*", { get_issue: issue, "a.b": a_b }]'));
  expect(manifest.artifacts[0]?.tools).toEqual(['list_*', { get_issue: 'issue', 'a.b': 'a_b' }]);
  for (const fine of ['[{ a: b }, { b: a }]', '[a, { a: b }]', `[{ a: ${'x'.repeat(56)} }]`])
    expect(refusal(listing(`tools: ${fine}`)), fine).toEqual([]);
  expect(
    [
      '[{ "get_*": issue }]',
      '[{ get_issue: get.issue }]',
      `[{ a: ${'x'.repeat(57)} }]`,
      '[{ a: x }, { a: y }]',
      '[{ a: x, b: x }]',
      '[{ a: b }, b]',
      '[{ a: 1 }]',
      '[[a]]',
      '[{}]',
    ].map((tools) => refusal(listing(`tools: ${tools}`))),
  ).toEqual([
    ['E-MAN-003 artifacts[0].tools[0]."get_*" is not for the name of one tool, as its server lists it'],
    ['E-MAN-003 artifacts[0].tools[0].get_issue must be a name of letters, digits, _ and -, here of at most 56'],
    ['E-MAN-003 artifacts[0].tools[0].a must be a name of letters, digits, _ and -, here of at most 56'],
    ['E-MAN-003 artifacts[0].tools[1].a gives that tool a second name'],
    ['E-MAN-003 artifacts[0].tools[0].b takes the name x, which another tool of the list has'],
    ['E-MAN-003 artifacts[0].tools[0].a takes the name b, which another tool of the list has'],
    [
      'E-MAN-003 artifacts[0].tools must be a list of names of tools, where { <name>: <another name> } renames one, or capsule for a skill',
    ],
    [
      'E-MAN-003 artifacts[0].tools must be a list of names of tools, where { <name>: <another name> } renames one, or capsule for a skill',
    ],
    ['E-MAN-003 artifacts[0].tools[0] renames no tool'],
  ]);
  expect(refusal(listing('runtime: skill, tools: [{ Read: Look }]'))).toEqual([
    'E-MAN-003 artifacts[0].tools[0] gives names, which the tools of a server can have',
  ]);
});

it('an entry of artifacts has a range and a place of its own, which are checked', () => {
  const listing = (row: string): string => `${smallest}artifacts: [{ name: echo, version: 1.0.0, ${row} }]\n`;
  const { manifest } = load(listing('range: ^1.0.0, from: "github:acme/tools@v1"'));
  expect(manifest.artifacts).toEqual([
    { name: 'echo', version: '1.0.0', runtime: 'tool', range: '^1.0.0', from: 'github:acme/tools@v1' },
  ]);
  expect(refusal(listing('range: ">>1"'))).toEqual([
    expect.stringContaining('artifacts[0].range must be a range of versions, such as ^1.2.0') as string,
  ]);
  for (const from of ['tools', 'github:acme', 'http://example.com/a', 'oci://', 'oci://h/UPPER', 'oci://h/a:tag']) {
    expect(refusal(listing(`from: ${JSON.stringify(from)}`)), from).toEqual([
      expect.stringContaining('artifacts[0].from must be github:<owner>/<repo>@<tag>, github:<owner>') as string,
    ]);
  }
  for (const folder of ['', '/etc', '../x', 'a//b', 'a/../b', 'a\\b', 'a@b', 'a#b']) {
    expect(
      refusal(listing(`runtime: skill, from: ${JSON.stringify(`github:acme/tools@v1#${folder}`)}`)),
      folder,
    ).toEqual([expect.stringContaining('artifacts[0].from must be github:<owner>/<repo>@<tag>, ') as string]);
  }
  expect(refusal(listing('runtime: skill, from: "github:acme/tools@a/../../b#x"'))).toHaveLength(1);
  expect(refusal(listing('runtime: skill, from: "github:acme/tools@feature/x#skills/pdf", tools: [Read]'))).toEqual([]);
  expect(refusal(listing('from: "github:acme/tools@v1#skills/pdf"'))).toEqual([
    expect.stringContaining('artifacts[0].from names a folder of a repository, and those are skills') as string,
  ]);
  expect(refusal(listing('from: "oci://registry.example.com:5000/acme/echo"'))).toEqual([]);
  expect(refusal(listing('source: ./echo, range: ^1.0.0'))).toEqual([expect.stringContaining('E-MAN-003') as string]);
  expect(load(listing('wish: ^1.0.0')).warnings.map(({ code }) => code)).toEqual(['W-SEC-019']);
});

it('a manifest names folders of skills, each below its own', () => {
  const discover = (list: string): string => `${smallest}skills: { discover: ${list} }\n`;
  expect(load(discover('[.agents/skills, .]')).manifest.skills).toEqual({ discover: ['.agents/skills', '.'] });
  expect(refusal(discover('[../skills]'))).toEqual([
    'E-MAN-003 skills.discover[0] must be a relative path below the manifest, without "..", not "../skills"',
  ]);
  expect(refusal(discover('[]'))).toHaveLength(1);
  expect(refusal(discover('[a, b, c, d, e, f, g, h, i]'))).toHaveLength(1);
  expect(refusal(`${smallest}skills: {}\n`)).toEqual(['E-MAN-001 skills.discover is missing']);
});
