// Writes dist/engine: the engine of guests without its code, which every bundled component has in it as it is. The package takes the code from
// the archive of one of them, and is a third of a megabyte smaller to download.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const codeSection = 10;
const preambleBytes = 8;

/** `engine` is the path of the whole engine. Throws when no bundled component has its code. */
export function spliceEngine(dist, engine) {
  const bytes = readFileSync(engine);
  const { start, end } = codeOf(bytes);
  const code = bytes.subarray(start, end);
  const bundled = join(dist, 'bundled');
  const archives = readdirSync(bundled).flatMap((name) =>
    readdirSync(join(bundled, name)).map((version) => join(name, version, `${name}-${version}.zip`)),
  );
  const archive = archives.sort().find((path) => readFileSync(join(bundled, path)).includes(code));
  if (archive === undefined) throw new Error('no bundled component has the code of the engine that it is built with');
  const from = readFileSync(join(bundled, archive)).indexOf(code);
  const folder = join(dist, 'engine');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, 'rest.bin'), Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]));
  const splice = { archive: archive.replaceAll('\\', '/'), from, size: code.length, at: start };
  writeFileSync(join(folder, 'splice.json'), `${JSON.stringify(splice)}\n`);
}

/** Where the content of the code section of a core module begins and ends. */
function codeOf(bytes) {
  let at = preambleBytes;
  const number = () => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const id = bytes.readUInt8(at);
    at += 1;
    const size = number();
    if (id === codeSection) return { start: at, end: at + size };
    at += size;
  }
  throw new Error('the engine has no code');
}
