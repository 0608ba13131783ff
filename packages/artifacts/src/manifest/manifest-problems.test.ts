import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { anyCharacter } from '../../../../test/support/any-character.ts';
import { parseArtifactManifest } from './artifact-manifest.ts';
import { loadCapsuleManifest } from './load.ts';

const tenMistakes = `name: My Capsule
version: 1.0.0
artifacts:
  - name: notes
    version: latest
    runtime: tol
inference:
  endpoint: http://provider.example
  api_key: \${NO_SUCH_KEY}
  max_turns: many
lifecycle:
  task_acceptance: [queue]
network:
  internal_port: 0
capabilities:
  network:
    allow: ["*.example.com"]
  filesystem:
    scope: /etc
  spwan:
    allow: []
`;

function problemsOf(text: string): readonly Diagnostic[] {
  try {
    loadCapsuleManifest({ file: 'svc.yaml', text, env: {} });
  } catch (error) {
    if (error instanceof DiagnosticList) return error.diagnostics;
    throw error;
  }
  return [];
}

function summary(text: string): string[] {
  return problemsOf(text).map(
    ({ code, message, location }) =>
      `${code} ${location?.line}:${location?.column}+${location?.length} ${message.slice(0, 60)}`,
  );
}

describe('a manifest with many mistakes', () => {
  it('fails with every one of them, each with its place', () => {
    expect(summary(tenMistakes)).toEqual([
      'E-MAN-003 1:7+10 name must be lowercase letters, digits and inner hyphens, no',
      'E-MAN-003 5:14+6 artifacts[0].version ("latest") is a reserved version, name ',
      'E-MAN-003 6:14+3 artifacts[0].runtime must be one of driver, tool, hook, skil',
      'E-MAN-001 7:1+9 inference.driver.artifact is missing',
      'E-MAN-001 7:1+9 inference.model is missing',
      'E-MAN-003 8:13+23 inference.endpoint must be https, or http to a loopback addr',
      'E-MAN-003 9:12+14 inference.api_key refers to the variable NO_SUCH_KEY, which ',
      'E-MAN-003 10:14+4 inference.max_turns must be a whole number, not text',
      'E-MAN-003 12:20+7 lifecycle.task_acceptance must be one of none, single, queue',
      'E-MAN-003 14:18+1 network.internal_port must be at least 1, not 0',
      'E-CAP-001 17:13+15 capabilities.network.allow[0] ("*.example.com") has a wildca',
      'E-CAP-002 19:12+4 capabilities.filesystem.scope must be a relative path inside',
      'E-MAN-006 20:3+5 spwan of capabilities in line 20 is not a known key',
    ]);
  });

  it('names the misspelt key beside the key that is then missing', () => {
    expect(summary('nmae: a\nversion: "1"\ninference: { transport: process, comand: x }\n')).toEqual([
      'E-MAN-001 1:1+4 name is missing',
      'W-SEC-019 1:1+4 nmae in line 1 is not a known key and was ignored',
      'E-MAN-001 3:1+9 inference.command is missing',
      'W-SEC-019 3:34+6 comand of inference in line 3 is not a known key and was ign',
    ]);
  });

  it.each([
    ['capabilities: { netwrok: {} }', 'netwrok of capabilities', 'network'],
    ['capabilities: { filesystem: { read_onyl: true } }', 'read_onyl of capabilities.filesystem', 'read_only'],
    [
      'artifacts: [{ name: a, version: "1", capabilities: { env: { alow: [] } } }]',
      'alow of artifacts[0].capabilities.env',
      'allow',
    ],
    ['doors: { srve: [mcp] }', 'srve of doors', 'serve'],
    ['exports: { fiels: { root: out } }', 'fiels of exports', 'files'],
    ['aprovals: { default: ask }', 'aprovals', 'approvals'],
    [
      'artifacts: [{ name: a, version: "1", capabilties: { env: { allow: [] } } }]',
      'capabilties of artifacts[0]',
      'capabilities',
    ],
  ])('refuses a misspelt key that could widen what is allowed: %s', (block, key, meant) => {
    const text = `name: a\nversion: "1"\ninference: { transport: process, command: x }\n${block}\n`;
    expect(problemsOf(text).map(({ code, message, hint }) => [code, message, hint])).toEqual([
      ['E-MAN-006', `${key} in line 4 is not a known key`, `did you mean ${meant}?`],
    ]);
  });

  it('never shows what may be a credential', () => {
    const text = 'name: a\nversion: "1"\ninference:\n  transport: process\n  command: x\n  api_key: [hunter2]\n';
    expect(summary(text)).toEqual(['E-MAN-003 6:12+9 inference.api_key must be text, not a list']);
  });

  it('shows how many tokens were given, which are no credential', () => {
    const text = 'name: a\nversion: "1"\ninference: { transport: process, command: x, max_tokens: -1, api_key: 12 }\n';
    expect(problemsOf(text).map(({ message }) => message)).toEqual([
      'inference.max_tokens must be at least 1, not -1',
      'inference.api_key must be text, not a number',
    ]);
  });

  it('reports at most a hundred, errors before warnings', () => {
    const text = Array.from({ length: 500 }, (_, index) => `key${index}: 1`).join('\n');
    const codes = problemsOf(text).map(({ code }) => code);
    expect(codes).toHaveLength(100);
    expect(codes.filter((code) => code === 'E-MAN-001')).toHaveLength(3);
  });
});

describe('a hint', () => {
  function hints(text: string): (string | undefined)[] {
    return problemsOf(text).map(({ hint }) => hint);
  }

  it('says how an address begins', () => {
    const text =
      'name: a\nversion: "1"\ninference: { endpoint: "localhost:11434", model: x, driver: { artifact: svc-driver-openai } }\n';
    expect(hints(text)).toEqual(['begin it with https://, or on this machine with http://']);
  });

  it('names the manifest of an artifact or that of a capsule', () => {
    expect(hints('name: a\nversion: "1"\nruntime: tool\n')).toContain(
      'this describes an artifact, not a capsule: a capsule lists it in artifacts, with its folder as source',
    );
  });

  it.each([
    ['doors: { push: { allow: [{ host: a.example, privat: true }] } }', 'private'],
    ['capabilities: { state: { stoer: notes } }', 'store'],
  ])('names the key that was meant in a block that may also be something else: %s', (block, meant) => {
    const text = `name: a\nversion: "1"\ninference: { transport: process, command: x }\n${block}\n`;
    expect(hints(text)).toEqual([`did you mean ${meant}?`]);
  });

  it('says what is wrong with a command whose words are not all text', () => {
    const text = 'name: a\nversion: "1"\ninference: { transport: process, command: [true] }\n';
    expect(problemsOf(text).map(({ message, hint }) => [message, hint])).toEqual([
      ['inference.command must be a command line or a list of words', 'put each value in quotes'],
    ]);
  });
});

describe('text that is not one YAML document', () => {
  it.each([
    ['a tab as indentation', 'a:\n\tb: 1\n', 'E-MAN-002 2:1+1 a tab stands where spaces must indent'],
    [
      'a second document',
      'a: 1\n---\nb: 2\n',
      'E-MAN-002 2:1+3 the file holds more than one document; keep one and remove t',
    ],
    ['an open quote', 'a: "b\n', 'E-MAN-002 2:1+1 not valid YAML: missing closing "quote'],
    ['an open list', 'a: [b\n', 'E-MAN-002 2:1+1 not valid YAML: flow sequence in block collection must be su'],
    ['a tag', 'a: !!binary aGk=\n', 'E-MAN-002 1:4+8 a tag ("!…") is not allowed here'],
  ])('fails for %s', (_, text, expected) => {
    expect(summary(text)).toContain(expected);
  });

  it('fails with all its syntax errors at once', () => {
    expect(problemsOf('a: "\\q"\nb: "\\w"\n').map(({ location }) => location?.line)).toEqual([1, 2]);
  });

  it('fails for a key that appears twice, beside every other problem', () => {
    expect(summary('name: a\nversion: "1"\nname: b\n')).toEqual([
      'E-MAN-001 1:1+4 inference is missing',
      'E-MAN-002 3:1+4 the key name appears twice in one block',
    ]);
  });

  it('fails for an alias without its anchor, and for a key that would reach into every object', () => {
    expect(summary('name: *gone\n__proto__: { version: "1" }\n').filter((line) => !line.includes('E-MAN-001'))).toEqual(
      [
        'E-MAN-002 1:7+5 an alias names an anchor that is not set before it',
        'E-MAN-003 1:7+5 name must be text, not empty',
        'E-MAN-003 2:1+9 "__proto__" is not allowed as a key',
      ],
    );
  });

  it('lacks every required key when it is empty, and is no manifest when it is a list', () => {
    expect(summary('')).toEqual([
      'E-MAN-001 1:1+1 name is missing',
      'E-MAN-001 1:1+1 version is missing',
      'E-MAN-001 1:1+1 inference is missing',
    ]);
    expect(summary('- a\n')).toEqual(['E-MAN-003 1:1+3 the file must be a block of keys, not a list']);
  });
});

describe('a hostile manifest', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from(
    { length: 20 },
    (_, level) =>
      `b${level}: &${String.fromCodePoint(98 + level)} [${`*${String.fromCodePoint(97 + level)},`.repeat(9)}]`,
  ).join('\n')}\n`;

  it.each([
    ['aliases that multiply', bomb, 'the file holds more than 100000 values'],
    ['an alias within its own anchor', 'a: &a [*a]\n', 'blocks are nested too deeply'],
    ['flow lists nested without end', `a: ${'['.repeat(250_000)}`, 'nest'],
    ['block lists nested without end', `${'- '.repeat(125_000)}a`, 'nest'],
    ['a file above 256 KiB', `a: ${'x'.repeat(256 * 1024)}`, 'the file is larger than 256 KiB'],
    ['a list of a hundred thousand', `tags: [${'0,'.repeat(99_000)}]`, 'the file has lists of more than 16384 items'],
  ])('with %s is refused soon', (_, text, expected) => {
    expect(problemsOf(text).some(({ message }) => message.includes(expected))).toBe(true);
  });

  it('with fifteen thousand keys, twice each, is refused soon', () => {
    const keys = Array.from({ length: 15_000 }, (_, index) => `k${index}:`).join('\n');
    expect(problemsOf(`${keys}\n${keys}\n`).length).toBe(100);
  });

  it('cannot make a message long or print control characters', () => {
    const problem = problemsOf(`name: "${'\\e[31m'.repeat(1000)}"\n`).find(({ message }) => message.startsWith('name'));
    expect(problem?.message).toMatch(/^name must be at most 100 characters, not "\\u\{1b\}\[31m/);
    expect(problem?.message.length).toBeLessThan(500);
  });
});

const words =
  'name version inference artifacts capabilities network allow limits exports files root lifecycle after_task sleep driver ' +
  'artifact api_key state store tool __proto__ ${HOME}';
const word = fc.constantFrom(...words.split(' '));
const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(word, fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.integer()),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(word, tie('value'), { maxKeys: 6, noNullPrototype: false }),
  ),
})).value;

describe('any text at all', () => {
  it('gives a manifest or a list of coded problems with places, never another error', () => {
    const structured = anyValue.map((value) => stringify(value));
    fc.assert(
      fc.property(fc.oneof(structured, fc.string(), fc.string({ unit: anyCharacter }), yamlLike()), (text) => {
        for (const { code, location } of problemsOf(text)) {
          expect(code).toMatch(/^[EW]-[A-Z]{3}-\d{3}$/);
          expect(location?.line).toBeGreaterThan(0);
          expect(location?.column).toBeGreaterThan(0);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('gives an artifact manifest or a list of coded problems', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyValue.map((value) => stringify(value)),
          yamlLike(),
        ),
        (text) => {
          try {
            parseArtifactManifest(text, 'svc.yaml');
          } catch (error) {
            expect(error).toBeInstanceOf(DiagnosticList);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Pieces of YAML in no order. */
function yamlLike(): fc.Arbitrary<string> {
  const marks = [
    '\n',
    '  ',
    '- ',
    ': ',
    '? ',
    '&a ',
    '*a ',
    '!t ',
    '---\n',
    '%Y ',
    '\t',
    'name',
    'inference',
    '1',
    '~',
    '<<: ',
  ];
  const piece = fc.constantFrom(...marks, ...Array.from('[]{},|>"\'#'));
  return fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
}
