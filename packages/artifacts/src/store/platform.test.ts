import { expect, it } from 'vitest';

import { platformOf } from './artifact-ref.ts';

it.each([
  ['linux', 'x64', 'linux-x86_64'],
  ['linux', 'arm64', 'linux-aarch64'],
  ['darwin', 'x64', 'darwin-x86_64'],
  ['darwin', 'arm64', 'darwin-aarch64'],
  ['linux', 'riscv64', 'linux-riscv64'],
])('the platform of %s on %s is %s', (platform, arch, expected) => {
  expect(platformOf({ platform, arch })).toBe(expected);
});
