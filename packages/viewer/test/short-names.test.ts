import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterAll, describe, expect, it, onTestFinished } from 'vitest';

import { shortenedNames } from '../../../scripts/build-viewer.mjs';
import { chromiumPath, closeBrowser, openPage } from './support/browser.ts';
import { buildPage } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const libraries = ['preact', 'preact/hooks'];

describe('the properties that have short names in the built page', () => {
  afterAll(closeBrowser);

  it.each(libraries)('exclude those that %s knows by their names', async (library) => {
    const words = new Set(readFileSync(fileURLToPath(import.meta.resolve(library)), 'utf8').match(/[\w$]+/g));
    const names = await shortenedNames(root);
    expect(names.length).toBeGreaterThan(20);
    expect(words.has('createElement') || words.has('useMemo')).toBe(true);
    expect(names.filter((name) => words.has(name))).toEqual([]);
  });

  it('exclude those in the answers of the server and in files', async () => {
    const folder = `${root}packages/protocol/src/`;
    const types = readdirSync(folder).filter((name) => /^(?:viewed-|shown-).*\.ts$/.test(name));
    expect(types.length).toBeGreaterThan(1);
    const words = new Set(types.flatMap((name) => readFileSync(folder + name, 'utf8').match(/\w+/g) ?? []));
    expect((await shortenedNames(root)).filter((name) => words.has(name))).toEqual([]);
  });

  it.skipIf(chromiumPath === null)('exclude those that a browser knows (skipped without Chromium)', async () => {
    await buildPage();
    const server = await new StandInServer([]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(`${server.origin}/`);
    onTestFinished(close);
    const known = await page.evaluate(() =>
      Object.getOwnPropertyNames(globalThis).flatMap((name) => {
        const value: unknown = Reflect.get(globalThis, name);
        const holders = typeof value === 'function' ? [value, value.prototype as unknown] : [value];
        return holders.flatMap((holder) =>
          holder !== null && (typeof holder === 'object' || typeof holder === 'function')
            ? Object.getOwnPropertyNames(holder)
            : [],
        );
      }),
    );
    const theirs = new Set(known);
    expect(['isConnected', 'indexOf', 'hasOwn', 'isSafeInteger'].filter((name) => !theirs.has(name))).toEqual([]);
    expect((await shortenedNames(root)).filter((name) => theirs.has(name))).toEqual([]);
  });
});
