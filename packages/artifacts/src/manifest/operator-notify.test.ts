import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadUserConfig } from './config.ts';
import { notifyCommand } from './operator-notify.ts';

function written(text: string): { readonly home: string; readonly file: string } {
  const home = mkdtempSync(join(tmpdir(), 'svc-operator-notify-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, '.svc'), { mode: 0o700 });
  const file = join(home, '.svc', 'config.yaml');
  writeFileSync(file, text, { mode: 0o600 });
  return { home, file };
}

function read(text: string): readonly string[] | string | null {
  const { file } = written(text);
  try {
    return notifyCommand(file, text, process.geteuid?.());
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code}: ${error.message}`;
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(({ code, message }) => `${code}: ${message}`).join('\n');
  }
}

describe('notify of the configuration of a user', () => {
  it('names a program on PATH or by its path, beside keys that others read', () => {
    expect(read('notify: { command: [notify-send, svc] }\ntrust: { rules: [] }\n')).toEqual(['notify-send', 'svc']);
    expect(read('notify: { command: [/usr/bin/mail, -s, "", me] }\n')).toEqual(['/usr/bin/mail', '-s', '', 'me']);
    expect(read('mcp: {}\n')).toBeNull();
    const text = 'notify: { command: [notify-send] }\n';
    expect(loadUserConfig({ home: written(text).home, env: {} }).warnings).toEqual([]);
  });

  it.each([
    ['notify: { command: [] }', 'E-MAN-003'],
    ['notify: { command: notify-send }', 'E-MAN-003'],
    ['notify: {}', 'E-MAN-001'],
    ['notify: { command: [bin/told] }', 'must begin with a name on PATH or an absolute path'],
    ['notify: { command: [""] }', 'must begin with a name on PATH or an absolute path'],
    ['notify: { command: [/usr/bin/] }', 'must begin with a name on PATH or an absolute path'],
    ['notify: { command: [told, "a\\u202eb"] }', 'must be printable'],
    ['notify: { command: [told, "\\0"] }', 'must be printable'],
    ['notify: { command: [curl, "${TOKEN}"] }', 'must be without ${VARIABLE}'],
    [`notify: { command: [told${', a'.repeat(64)}] }`, '64'],
    ['notify: { command: [told], webhook: "https://a.example/" }', 'E-MAN-006'],
  ])('refuses %s', (text, why) => {
    expect(read(`${text}\n`)).toContain(why);
  });

  it.each([0o622, 0o660])(
    'starts nothing from a file of mode %o, which others may write, nor from such a folder',
    (mode) => {
      const text = 'notify: { command: [told] }\n';
      const { home, file } = written(text);
      chmodSync(file, mode);
      expect(() => notifyCommand(file, text, process.geteuid?.())).toThrow(`other users may write to ${file}`);
      chmodSync(file, 0o600);
      chmodSync(join(home, '.svc'), 0o770);
      expect(() => notifyCommand(file, text, process.geteuid?.())).toThrow(
        `other users may write to ${join(home, '.svc')}`,
      );
    },
  );
});
