import { describe, expect, it } from 'vitest';

import { Diagnostic } from './diagnostic.ts';
import { Redactor } from './redactor.ts';
import { renderDiagnostic, renderDiagnostics, renderExcerpt } from './render.ts';
import { Secret } from './secret.ts';

const source = 'name: a\nlifecycle:\n  queue_depth: many\n';
const plain = { color: false, sourceOf: (file: string) => (file === 'svc.yaml' ? source : undefined) };

describe('a diagnostic for a person', () => {
  it('has one line of code and message, and a hint line when there is a hint [D1-ERR-14]', () => {
    expect(renderDiagnostic(new Diagnostic('E-RUN-010', 'port 80 is taken'), plain)).toBe(
      'error[E-RUN-010]: port 80 is taken\n',
    );
    expect(renderDiagnostic(new Diagnostic('E-RUN-010', 'port 80 is taken', { hint: 'choose another' }), plain)).toBe(
      'error[E-RUN-010]: port 80 is taken\nhint: choose another\n',
    );
  });

  it('becomes a warning when its code says so', () => {
    expect(renderDiagnostic(new Diagnostic('W-SEC-019', 'foo is unknown'), plain)).toBe(
      'warning[W-SEC-019]: foo is unknown\n',
    );
  });

  it('shows its place, the line and what is meant in it', () => {
    const location = { file: 'svc.yaml', line: 3, column: 16, length: 4 };
    const diagnostic = new Diagnostic('E-MAN-003', 'queue_depth must be a whole number', { location, hint: 'write 1' });
    expect(renderDiagnostic(diagnostic, plain)).toBe(`error[E-MAN-003]: queue_depth must be a whole number
 --> svc.yaml:3:16
  |
3 |   queue_depth: many
  |                ^^^^
hint: write 1
`);
  });

  it('names the place alone when the file or the line is not there', () => {
    const away = new Diagnostic('E-MAN-003', 'x', { location: { file: 'other.yaml', line: 1, column: 2 } });
    expect(renderDiagnostic(away, plain)).toBe('error[E-MAN-003]: x\n --> other.yaml:1:2\n');
    const beyond = new Diagnostic('E-MAN-003', 'x', { location: { file: 'svc.yaml', line: 99, column: 1 } });
    expect(renderDiagnostic(beyond, plain)).toBe('error[E-MAN-003]: x\n --> svc.yaml:99:1\n');
  });

  it('colours the label when it may, and leaves the words as they are', () => {
    const colored = renderDiagnostic(new Diagnostic('E-RUN-010', 'taken'), { color: true });
    expect(colored).toBe('\u001B[31merror[E-RUN-010]\u001B[39m: taken\n');
  });

  it('keeps its first line one line and its terminal safe, whatever the message holds', () => {
    const diagnostic = new Diagnostic('E-IO-001', 'cannot read a\nerror[E-X]: \u001B[2Jb\u202E');
    expect(renderDiagnostic(diagnostic, plain)).toBe(
      'error[E-IO-001]: cannot read a error[E-X]: \\u{1b}[2Jb\\u{202e}\n',
    );
  });

  it('shows no registered secret', () => {
    const redactor = new Redactor();
    redactor.register(new Secret('hunter2'));
    const diagnostic = new Diagnostic('E-IO-003', 'the registry said: bad key hunter2');
    expect(renderDiagnostic(diagnostic, { color: false, redactor })).toBe(
      'error[E-IO-003]: the registry said: bad key [secret]\n',
    );
  });

  it('stands apart from the next when a place is shown', () => {
    const located = new Diagnostic('E-MAN-001', 'a', { location: { file: 'x', line: 1, column: 1 } });
    const bare = new Diagnostic('E-IO-001', 'b');
    expect(renderDiagnostics([located, bare], plain)).toBe('error[E-MAN-001]: a\n --> x:1:1\n\nerror[E-IO-001]: b\n');
    expect(renderDiagnostics([bare, bare], plain)).toBe('error[E-IO-001]: b\nerror[E-IO-001]: b\n');
  });
});

describe('the excerpt of a source line', () => {
  it('underlines what was found, below it also after tabs and wide characters', () => {
    expect(renderExcerpt('a: many', { column: 4, length: 4 })).toEqual({ text: 'a: many', marker: '   ^^^^' });
    expect(renderExcerpt('\ta: b', { column: 5, length: 1 })).toEqual({ text: '  a: b', marker: '     ^' });
    expect(renderExcerpt('日本: b', { column: 5, length: 1 })).toEqual({ text: '日本: b', marker: '      ^' });
  });

  it('underlines one place when the end of the line was meant', () => {
    expect(renderExcerpt('a:', { column: 3, length: 5 })).toEqual({ text: 'a:', marker: '  ^' });
    expect(renderExcerpt('', { column: 1 })).toEqual({ text: '', marker: '^' });
  });

  it('underlines nothing where the place is behind a credential', () => {
    const line = 'inference: { model: m, api_key: "", temperature: hot }';
    const text = 'inference: { model: m, api_key: [secret]';
    expect(renderExcerpt(line, { column: 50, length: 3 })).toEqual({ text, marker: '' });
    expect(renderExcerpt(line, { column: 33, length: 2 })).toEqual({ text, marker: `${' '.repeat(32)}^^` });
    const located = new Diagnostic('E-MAN-003', 'a', { location: { file: 'x', line: 1, column: 50, length: 3 } });
    expect(renderDiagnostic(located, { color: false, sourceOf: () => line })).toBe(
      `error[E-MAN-003]: a\n --> x:1:50\n  |\n1 | ${text}\n`,
    );
  });

  it('cuts a long line around the place', () => {
    const { text, marker } = renderExcerpt(`${'x'.repeat(500)}HERE${'y'.repeat(500)}`, { column: 501, length: 4 });
    expect(text).toBe(`…${'x'.repeat(40)}HERE${'y'.repeat(56)}…`);
    expect(marker).toBe(`${' '.repeat(41)}^^^^`);
  });

  it.each([
    ['  api_key: sk-123', '  api_key: [secret]'],
    ['  "api_key": sk-123 # mine', '  "api_key": [secret]'],
    ['{name: a, token: abc, type: github}', '{name: a, token: [secret]'],
    ['  API-KEY: sk-123', '  API-KEY: [secret]'],
    ['  password: [a, b]', '  password: [secret]'],
    ['{ max_tokens: 100, token: abc }', '{ max_tokens: 100, token: [secret]'],
    ['  max_session_tokens: 1', '  max_session_tokens: 1'],
    ['  my_max_tokens: 1', '  my_max_tokens: [secret]'],
    ['  api_key: ${KEY}', '  api_key: ${KEY}'],
    ['  api_key: "${KEY}"', '  api_key: "${KEY}"'],
    ['  api_key:', '  api_key:'],
    ['{ names: ["a"], signed_by: { key: acme } }', '{ names: ["a"], signed_by: { key: acme } }'],
    ['signed_by: { any: [{ key: a }, { key: b }] }', 'signed_by: { any: [{ key: a }, { key: b }] }'],
    ['{ signed_by: { key: a }, api_key: sk-123 }', '{ signed_by: { key: a }, api_key: [secret]'],
    ['  keys: { acme: ./nofile.pub }', '  keys: { acme: ./nofile.pub }'],
    [
      'trust: { keys: { a-key: "/etc/a.pub", b: ../b.pem } } # two',
      'trust: { keys: { a-key: "/etc/a.pub", b: ../b.pem } } # two',
    ],
    ['{ keys: { a: ~/a.pub }, token: abc }', '{ keys: { a: ~/a.pub }, token: [secret]'],
    ['{ token: abc, keys: { a: ./a.pub } }', '{ token: [secret]'],
    ['  keys: { acme: ./nofile.pub, mine: sk-123 }', '  keys: [secret]'],
    ['  keys: { acme: /9j4AAQSkZJRg }', '  keys: [secret]'],
    ['  keys: ./nofile.pub', '  keys: [secret]'],
    ['  api_keys: { acme: ./nofile.pub }', '  api_keys: [secret]'],
    ['{ signed_by: { "key": sk-123 } }', '{ signed_by: { "key": [secret]'],
  ])('shows for %s: %s', (line, shown) => {
    expect(renderExcerpt(line, { column: 1 }).text).toBe(shown);
  });

  it('spells out control characters', () => {
    expect(renderExcerpt('a: \u001B[31m', { column: 1 }).text).toBe('a: \\u{1b}[31m');
  });
});
