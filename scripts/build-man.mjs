// Makes the manual pages in man/ of the built program and docs/cli.md, and holds the list of them in package.json, from which npm links them.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Says so where package.json lists other pages; with `accept`, the list is written anew. */
export function buildManPages(root, { accept }) {
  const directory = join(root, 'man');
  rmSync(directory, { recursive: true, force: true });
  const program = join(root, 'bin', 'svc.cjs');
  const printed = execFileSync(process.execPath, [program, 'help', '--man', '--out', directory], { encoding: 'utf8' });
  const pages = printed
    .trimEnd()
    .split('\n')
    .map((file) => `man/${file}`);
  const path = join(root, 'package.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  if (JSON.stringify(manifest.man) === JSON.stringify(pages)) return;
  if (accept) writeFileSync(path, `${JSON.stringify({ ...manifest, man: pages }, null, 2)}\n`);
  else process.stderr.write('package.json lists other manual pages than there are: npm run build -- --accept\n');
}
