/** Distinguishes the folders of the operating system from those that people work in. */

import { isBeneath, realPath } from './resolve-beneath.ts';

const programs = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'libexec'];
/** Nothing in them is anybody's work. */
const closed = ['', '/usr', '/usr/local']
  .flatMap((prefix) => programs.map((name) => `${prefix}/${name}`))
  .concat(['/boot', '/etc', '/proc', '/run', '/sys', '/usr/include', '/usr/share', '/var/lib/dpkg', '/var/spool']);
/** What people work in may lie in them. */
const shared = ['/dev', '/home', '/opt', '/root', '/srv', '/usr', '/usr/local', '/var', '/var/lib'];

/** Why a folder, links resolved, is one of the system's, as the end of a sentence that begins with "it"; null for any other. */
export function systemFolder(folder: string): string | null {
  const whole = closed.map(realPath);
  const all = [...whole, ...shared.map(realPath)];
  if (all.includes(folder)) return 'is a folder of the system';
  const held = all.find((each) => isBeneath(folder, each));
  if (held !== undefined) return `holds ${held}, a folder of the system`;
  const around = whole.find((each) => isBeneath(each, folder));
  return around === undefined ? null : `lies in ${around}, a folder of the system`;
}
