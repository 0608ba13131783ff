import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ArtifactEdit, editArtifacts } from './edit-artifacts.ts';

function edited(text: string, ...edits: ArtifactEdit[]): string {
  return editArtifacts('svc.yaml', text, edits);
}

const head = 'name: a # who we are\nversion: 1.0.0\n';
const echo: ArtifactEdit = { kind: 'add', row: { name: 'echo', version: '1.4.2', range: '^1.2.0' } };

describe('an edit of the artifacts in a manifest', () => {
  it('adds a row where there is no list, and leaves the rest', () => {
    expect(edited(`${head}# the end\n`, echo)).toBe(
      `${head}# the end\nartifacts:\n  - { name: echo, version: 1.4.2, range: ^1.2.0 }\n`,
    );
    expect(edited('name: a', echo)).toBe('name: a\nartifacts:\n  - { name: echo, version: 1.4.2, range: ^1.2.0 }\n');
  });

  it('adds a row to a list that is empty, or has nothing behind its key', () => {
    const row = '{ name: echo, version: 1.4.2, range: ^1.2.0 }';
    expect(edited('artifacts: [] # none yet\nname: a\n', echo)).toBe(`artifacts: [${row}] # none yet\nname: a\n`);
    expect(edited('artifacts: # none yet\nname: a\n', echo)).toBe(`artifacts: # none yet\n  - ${row}\nname: a\n`);
  });

  it('adds a row behind the last one, as that one is written', () => {
    const flow = 'artifacts:\n    - { name: grep, version: 1.0.0 } # finds\n\n# below\nname: a\n';
    expect(edited(flow, echo)).toBe(
      'artifacts:\n    - { name: grep, version: 1.0.0 } # finds\n    - { name: echo, version: 1.4.2, range: ^1.2.0 }\n\n# below\nname: a\n',
    );
    const block = 'artifacts:\n- name: grep\n  version: 1.0.0 # finds\n  config: { a: 1 }\nname: a\n';
    expect(edited(block, echo)).toBe(
      'artifacts:\n- name: grep\n  version: 1.0.0 # finds\n  config: { a: 1 }\n- name: echo\n  version: 1.4.2\n  range: ^1.2.0\nname: a\n',
    );
    expect(edited('artifacts: [{ name: grep, version: 1.0.0 }]\n', echo)).toBe(
      'artifacts: [{ name: grep, version: 1.0.0 }, { name: echo, version: 1.4.2, range: ^1.2.0 }]\n',
    );
  });

  it('keeps the line ends of the file, and takes one without a last one', () => {
    expect(edited('artifacts:\r\n  - name: grep\r\n    version: 1.0.0', echo)).toBe(
      'artifacts:\r\n  - name: grep\r\n    version: 1.0.0\r\n  - name: echo\r\n    version: 1.4.2\r\n    range: ^1.2.0',
    );
  });

  it('quotes what YAML would read as something else', () => {
    const rows = [
      { version: '1.0', range: '>=1.0.0 <2.0.0' },
      { version: '2', range: '~1' },
      { version: '1e3', range: '*' },
      { version: '0x1F', range: 'x' },
      { version: '2024-05-01', range: '1.2' },
    ];
    expect(
      edited('name: a\n', { kind: 'add', row: { name: 'echo', version: '1.0.0', range: '1.x || 2.x' } }),
    ).toContain('version: 1.0.0, range: "1.x || 2.x" }');
    for (const row of rows) {
      const text = edited('name: a\n', { kind: 'add', row: { name: 'echo', ...row } });
      expect(text).toContain(`version: "${row.version}"`);
    }
    expect(edited('name: a\n', { kind: 'add', row: { name: 'no', version: '1.0.0' } })).toContain('name: "no"');
  });

  it('changes a version and a range in place', () => {
    const text =
      '# mine\nartifacts:\n  - { name: echo, version: 1.4.2, range: ^1.2.0 } # speaks\n  - name: grep # finds\n    version: "1.0" # old\n    config: {}\n';
    const changes: ArtifactEdit[] = [
      { kind: 'change', name: 'echo', version: '1.5.0' },
      { kind: 'change', name: 'grep', version: '2.0.0', range: '^2.0.0' },
    ];
    expect(edited(text, ...changes)).toBe(
      '# mine\nartifacts:\n  - { name: echo, version: 1.5.0, range: ^1.2.0 } # speaks\n  - name: grep # finds\n    version: 2.0.0 # old\n    range: ^2.0.0\n    config: {}\n',
    );
  });

  it('takes a range away, and puts one in', () => {
    const text =
      'artifacts:\n  - { range: ^1.2.0, name: echo, version: 1.4.2 }\n  - name: grep\n    range: ^1.0.0 # wish\n    version: 1.0.0\n';
    const changes: ArtifactEdit[] = [
      { kind: 'change', name: 'grep', version: '1.1.0', range: null },
      { kind: 'change', name: 'echo', version: '2.0.0', range: '^2.0.0', from: 'github:a/b@v2' },
    ];
    expect(edited(text, ...changes)).toBe(
      'artifacts:\n  - { range: ^2.0.0, name: echo, version: 2.0.0, from: "github:a/b@v2" }\n  - name: grep\n    version: 1.1.0\n',
    );
  });

  it('removes a row, with its own comment and no other', () => {
    const text =
      'artifacts:\n  # first\n  - { name: echo, version: 1.4.2 } # speaks\n  # second\n  - name: grep\n    version: 1.0.0\nname: a\n';
    expect(edited(text, { kind: 'remove', name: 'echo' })).toBe(
      'artifacts:\n  # first\n  # second\n  - name: grep\n    version: 1.0.0\nname: a\n',
    );
    expect(edited(text, { kind: 'remove', name: 'grep' })).toBe(
      'artifacts:\n  # first\n  - { name: echo, version: 1.4.2 } # speaks\n  # second\nname: a\n',
    );
    expect(
      edited('artifacts: [{ name: b, version: 1.0.0 }, { name: c, version: 1.0.0 }]\n', { kind: 'remove', name: 'b' }),
    ).toBe('artifacts: [{ name: c, version: 1.0.0 }]\n');
  });

  it('leaves an empty list behind the last row', () => {
    const text = 'artifacts: # all\n  # speaks\n  - { name: echo, version: 1.4.2 }\nname: a\n';
    expect(edited(text, { kind: 'remove', name: 'echo' })).toBe('artifacts: [] # all\n  # speaks\nname: a\n');
    expect(edited('artifacts: [{ name: echo, version: 1.0.0 }]\n', { kind: 'remove', name: 'echo' })).toBe(
      'artifacts: []\n',
    );
  });

  it('refuses what would not come out as it should', () => {
    const odd = [
      'artifacts: &all\n  - &e { name: echo, version: 1.4.2 }\nagain: *e\n',
      'base: &v 1.4.2\nartifacts:\n  - { name: echo, version: *v }\n',
      'artifacts:\n  - <<: {}\n    name: grep\n    version: 1.0.0\n',
      '{ artifacts: [{ name: echo, version: 1.4.2 }] }\n',
      'artifacts: echo\n',
    ];
    for (const text of odd) {
      expect(() => edited(text, { kind: 'change', name: 'echo', version: '1.5.0' }), text).toThrow(Diagnostic);
    }
    expect(() => edited('artifacts: []\n', { kind: 'remove', name: 'echo' })).toThrow(
      expect.objectContaining({ code: 'E-REG-029' }) as Error,
    );
  });
});
