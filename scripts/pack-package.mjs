// Packs a built package of this checkout into the tarball that npm installs: the files that `npm pack` takes, and the same bytes each time.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const blockBytes = 512;
/** npm gives every file this time: in seconds, 1985-10-26 08:15 UTC. */
const modified = 499_162_500;
/** What npm takes whether a package names it or not. */
const always = ['LICENSE', 'README.md', 'package.json'];

/** The name that `npm pack` gives to the tarball of a package. */
export function tarballName({ name, version }) {
  return `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;
}

/** The bytes of the tarball of a package by its folder. */
export function packPackage(folder) {
  const parts = packedFiles(folder).flatMap((file) => entryOf(`package/${file}`, readFileSync(join(folder, file))));
  const tarball = gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]), { level: 9 });
  // The operating system, which gzip records: unknown.
  tarball[9] = 0xff;
  return tarball;
}

/** The files of a package that go into its tarball, sorted; `files` names folders and files, with `!` what is left out of them. */
export function packedFiles(folder) {
  const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const left = files.filter((name) => name.startsWith('!')).map((name) => name.slice(1));
  const named = files.filter((name) => !name.startsWith('!')).flatMap((name) => filesBelow(folder, name));
  const isLeft = (file) => left.some((name) => file === name || file.startsWith(`${name}/`));
  return [...new Set([...always, ...named.filter((file) => !isLeft(file))])].toSorted((one, other) =>
    one < other ? -1 : 1,
  );
}

/** Empty when nothing of that name is there. */
function filesBelow(folder, name) {
  if (!existsSync(join(folder, name))) return [];
  if (statSync(join(folder, name)).isFile()) return [name];
  return readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    .map((file) => `${name}/${file.replaceAll('\\', '/')}`)
    .filter((file) => statSync(join(folder, file)).isFile());
}

/** The header and the content of a file in the tar format (ustar), each filled up to whole blocks. */
function entryOf(name, content) {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long a name for the tar format`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value, length) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  header.write(octal(modified, 12), 136);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)} `, 148);
  return [header, content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)];
}
