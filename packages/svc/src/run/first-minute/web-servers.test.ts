import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { removeOlder } from './web-servers.ts';

it('a store keeps the sixteen newest lists of a server, those of a day, and all that is no list', () => {
  const shelf = mkdtempSync(join(tmpdir(), 'svc-shelf-'));
  onTestFinished(() => rmSync(shelf, { recursive: true }));
  const nowSecs = Date.now() / 1000;
  const put = (name: string, ageSecs: number): void => {
    mkdirSync(join(shelf, name));
    writeFileSync(join(shelf, name, 'x.zip'), 'x');
    utimesSync(join(shelf, name), nowSecs - ageSecs, nowSecs - ageSecs);
  };
  const version = (number: number): string => `0.0.0-pin${number.toString(16).padStart(16, '0')}`;
  for (let number = 0; number < 40; number += 1) put(version(number), number < 20 ? number : 90_000 + number);
  put('1.0.0', 1_000_000);
  removeOlder(shelf, version(39));
  const kept = [...Array.from({ length: 20 }, (_, number) => version(number)), version(39), '1.0.0'];
  expect(readdirSync(shelf).toSorted()).toEqual(kept.toSorted());
  removeOlder(join(shelf, 'none'), version(1));
});
