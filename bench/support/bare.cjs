// @ts-check
// Does one part of what svc does and nothing else: node bare.cjs <name> <word>...
'use strict';
const [, , name = '', ...words] = process.argv;

/** @type {Readonly<Record<string, (...words: string[]) => unknown>>} */
const programs = {
  /** Has V8 read the code of a bundle that svc has kept, runs none of it, listens, and prints a line. */
  listen(bundle = '') {
    const { openSync, readFileSync, readSync } = require('node:fs');
    const { Script } = require('node:vm');
    const source = readFileSync(bundle, 'latin1');
    const build = /^\/\*([0-9a-f]+)\*\//.exec(source)?.[1];
    const kept = openSync(`${bundle}.${build}.${process.version}-${process.arch}.cache`, 'r');
    const read = (/** @type {number} */ from, /** @type {number} */ length) => {
      const bytes = Buffer.allocUnsafeSlow(length);
      readSync(kept, bytes, 0, length, from);
      return bytes;
    };
    const [ofIndex = 0, ofMain = 0] = read(0, 20).toString('latin1').split(' ').map(Number);
    const script = new Script(source, { filename: bundle, cachedData: read(20 + ofIndex, ofMain) });
    if (script.cachedDataRejected !== false) throw new Error('V8 does not take the code that svc has kept');
    const server = require('node:http').createServer();
    server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
  },

  /** Keeps each body with a record in a folder of its own, as svc-registry lays them down: on the disk before it answers. */
  keep(folder = '', port = '') {
    const { mkdir, open, rename } = require('node:fs/promises');
    let count = 0;
    const store = async (/** @type {import('node:http').IncomingMessage} */ request) => {
      const number = (count += 1);
      const staged = `${folder}/staged-${number}`;
      await mkdir(staged);
      const files = [await open(`${staged}/archive.zip`, 'w'), await open(`${staged}/record.json`, 'w')];
      for await (const chunk of request) await files[0]?.write(chunk);
      await files[1]?.writeFile(JSON.stringify(request.headers));
      files.push(await open(staged));
      await Promise.all(files.map((file) => file.sync()));
      await Promise.all(files.map((file) => file.close()));
      await rename(staged, `${folder}/object-${number}`);
      const directory = await open(folder);
      await directory.sync();
      await directory.close();
    };
    const server = require('node:http').createServer((request, response) => {
      void store(request).then(() => response.writeHead(201, { 'content-length': 2 }).end('{}'));
    });
    server.listen(Number(port), '127.0.0.1');
  },
};

const program = programs[name];
if (program === undefined) throw new Error(`no bare program ${name}`);
program(...words);
