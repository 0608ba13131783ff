import { expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseArtifactRef, parseInstallTarget } from './artifact-ref.ts';

function refusal(argument: string): string {
  try {
    return JSON.stringify(parseInstallTarget(argument));
  } catch (error) {
    return error instanceof Diagnostic ? `${error.code} ${error.message}` : String(error);
  }
}

it('an artifact is named by its name and an exact version', () => {
  expect(parseInstallTarget('svc-tool-editor@1.0.0')).toEqual({
    kind: 'artifact',
    ref: { name: 'svc-tool-editor', version: '1.0.0' },
  });
  expect(parseInstallTarget('a@1.0.0-rc.1+build-5')).toEqual({
    kind: 'artifact',
    ref: { name: 'a', version: '1.0.0-rc.1+build-5' },
  });
});

it('a release of a repository is named by owner, repository and tag', () => {
  expect(parseInstallTarget('github:someone/some.repo@v1.2')).toEqual({
    kind: 'github',
    release: { owner: 'someone', repo: 'some.repo', tag: 'v1.2' },
  });
});

it('what lies in an OCI registry is named by tag, digest or both', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const named = { kind: 'oci', reference: { host: 'registry.example.com:5000', repository: 'acme/echo' } };
  const at = 'oci://registry.example.com:5000/acme/echo';
  expect(parseInstallTarget(`${at}:1.0.0_b`)).toMatchObject({ ...named, reference: { tag: '1.0.0_b', digest: null } });
  expect(parseInstallTarget(`${at}@${digest}`)).toMatchObject({ ...named, reference: { tag: null, digest } });
  expect(parseInstallTarget(`${at}:1@${digest}`)).toMatchObject({ ...named, reference: { tag: '1', digest } });
});

it.each([
  'oci://registry.example.com/acme/echo',
  'oci://registry.example.com/Acme/echo:1',
  'oci://user:password@registry.example.com/echo:1',
  'oci://registry.example.com/echo:1@sha256:abc',
  'oci://registry.example.com/../echo:1',
  'oci://registry.example.com:99999/echo:1',
  'oci://registry.example.com/echo?x:1',
  `oci://registry.example.com/${'a'.repeat(1000)}:1`,
])('%j names nothing', (argument) => {
  expect(refusal(argument)).toMatch(/^E-ART-008 /);
});

it.each(['latest', 'stable', 'edge'])('the version %s is reserved and names no artifact [D1-VER-02]', (version) => {
  expect(refusal(`echo@${version}`)).toBe(`E-REG-004 the reserved artifact version ${version} is not allowed`);
});

it.each(['.', '..', './echo-1.0.0.zip', '../echo@1.0.0', '/srv/echo', 'tools/echo', 'echo-1.0.0.zip', './a@b.zip'])(
  '%j is a path',
  (argument) => {
    expect(parseInstallTarget(argument)).toEqual({ kind: 'path', path: argument });
  },
);

it('a reference may end like an archive', () => {
  expect(parseInstallTarget('echo@1.0.zip')).toEqual({ kind: 'artifact', ref: { name: 'echo', version: '1.0.zip' } });
});

it.each([
  '',
  '@',
  'echo',
  'echo@',
  '@1.0.0',
  'Echo@1.0.0',
  '-echo@1.0.0',
  'echo@../1',
  'echo@1..0',
  'echo@1/0',
  'echo@1.0@2',
  `echo@${'1'.repeat(101)}`,
  `${'a'.repeat(101)}@1`,
  'github:',
  'github:someone',
  'github:someone/repo',
  'github:someone/repo@',
  'github:/repo@1',
  'github:a/b/c@1',
  'github:a/b@1 2',
])('%j names nothing', (argument) => {
  expect(refusal(argument)).toMatch(/^E-ART-008 /);
});

it('a text that names no artifact is refused with the forms that may stand there', () => {
  expect(() => parseInstallTarget('style')).toThrow(
    expect.objectContaining({ hint: expect.stringContaining(', github:<owner>/<repo>@<tag>, ') as string }),
  );
  expect(() => parseArtifactRef('style')).toThrow(
    expect.objectContaining({ hint: 'write <name>@<version>, for example svc-tool-editor@1.0.0' }),
  );
});
