import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ask } from '../../../kit/test/http/raw-client.ts';
import { ExportedWorkdir, get, mebibyte, refusalOf } from './exported-workdir.ts';

/** No machine hashes so much within the time of a test. */
const endless = 4 * 1024 * 1024 * mebibyte;

let plane: ExportedWorkdir;
let asking: Socket[];

function askForListing(port: number, header = ''): Socket {
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write(`GET /resources/files HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`);
  asking.push(client);
  return client;
}

describe('a listing that takes long', () => {
  beforeEach(() => {
    plane = new ExportedWorkdir();
    asking = [];
    writeFileSync(join(plane.out, 'a'), 'a');
    writeFileSync(join(plane.out, 'b'), '');
    truncateSync(join(plane.out, 'b'), endless);
  });

  afterEach(async () => {
    for (const client of asking) client.destroy();
    await plane.close();
  });

  it.each([
    [
      'cuts its connection',
      { outcome: 'io_error', status: 500 },
      (client: Socket): unknown => client.resetAndDestroy(),
    ],
    ['closes it', { outcome: 'ok', status: 200, entries: 1 }, (client: Socket): unknown => client.destroy()],
  ])('stops for a client that %s', async (_, told, leave) => {
    const port = await plane.open();
    const client = askForListing(port);
    // Asked for later and answered: the listing is being made.
    await get(port, '/resources/files/a');
    leave(client);
    await expect.poll(() => plane.events).toContainEqual({ event_type: 'resource_list', ...told });
  });

  it('arrives whole at a client that has only ended its half of the connection', async () => {
    const port = await plane.open();
    const client = askForListing(port);
    client.end();
    const [beginning] = (await once(client, 'data')) as [Buffer];
    truncateSync(join(plane.out, 'b'), 0);
    const rest = (await client.toArray()) as Buffer[];
    const text =
      Buffer.concat([beginning, ...rest])
        .toString()
        .split('\r\n\r\n')[1] ?? '';
    const listing = text.split('\r\n').filter((_, line) => line % 2 === 1);
    const { entries } = JSON.parse(listing.join('')) as { entries: { path: string }[] };
    expect(entries.map(({ path }) => path)).toEqual(['a', 'b']);
  });

  it('stops at the end of the session, and leaves nothing in its record', async () => {
    let isOver = false;
    const port = await plane.open({ isOver: () => isOver });
    const listing = get(port, '/resources/files');
    await get(port, '/resources/files/a');
    isOver = true;
    expect(refusalOf(await listing)).toBe('500 io_error');
    expect(plane.events.map(({ event_type: type }) => type)).toEqual(['resource_read']);
  });

  it('gets a refusal while 64 are being made, and an answer once their clients have left', async () => {
    const port = await plane.open();
    for (let index = 0; index < 64; index += 1) await once(askForListing(port), 'connect');
    await expect.poll(async () => refusalOf(await get(port, '/resources/files'))).toBe('503 busy');
    expect(plane.events.at(-1)).toEqual({ event_type: 'resource_list', outcome: 'busy', status: 503 });
    for (const client of asking) client.resetAndDestroy();
    truncateSync(join(plane.out, 'b'), 0);
    await expect.poll(async () => (await get(port, '/resources/files')).status).toBe(200);
  });

  it('leaves half of the room to others, whichever token asks', async () => {
    const port = await plane.open();
    const token = 'Authorization: Bearer one\r\n';
    for (let index = 0; index < 32; index += 1) await once(askForListing(port, token), 'connect');
    const again = async (): Promise<string> =>
      refusalOf(await ask(port, 'GET /resources/files HTTP/1.1', { headers: ['Authorization: Bearer one'] }));
    await expect.poll(again).toBe('503 busy');
    const other = get(port, '/resources/files');
    await get(port, '/resources/files/a');
    truncateSync(join(plane.out, 'b'), 0);
    expect((await other).status).toBe(200);
  });
});
