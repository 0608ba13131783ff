import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { ProtectedServer } from '../support/protected-server.ts';
import { SvcProcess } from '../support/svc-process.ts';
import { follow } from './follow.ts';
import { type Listing, sectionsOf, shownAs } from './listings.ts';
import { Reader } from './reader.ts';

const page = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
const [, example = ''] = page.split('\n## An example\n');

const tool = (name: string, description: string, argument: string): ProtectedServer['remote']['ways']['tools'][0] => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { [argument]: { type: 'string' } } },
});

describe('docs/mcp.md', () => {
  const reader = new Reader();
  afterAll(async () => reader.remove());

  it('has an example that works with a server that wants a login', { timeout: 120_000 }, async () => {
    const known = await ProtectedServer.start();
    try {
      const { remote, issuer } = known;
      remote.ways.tools = [
        tool('list_issues', 'Lists issues of a project.', 'project'),
        tool('get_issue', 'Gets an issue.', 'id'),
      ];
      // The page names a server that is not there, and the artifact is named after its host.
      const here = (text: string): string =>
        text
          .replaceAll('https://mcp.tracker.example/mcp', remote.url)
          .replaceAll('mcp.tracker.example', new URL(remote.url).host)
          .replaceAll('https://login.tracker.example', issuer.issuer)
          .replaceAll('login.tracker.example', new URL(issuer.issuer).host)
          .replaceAll('tracker__', 'server__');
      const listings = sectionsOf(`## An example\n${here(example)}`).flatMap((section) => section.listings);
      expect(listings.map(({ kind }) => kind)).toEqual([
        'file',
        'file',
        ...Array.from({ length: 5 }, () => 'commands'),
      ]);
      for (const listing of listings) expect(await did(listing, reader, known)).toBeNull();
      expect(remote.methods).toContain('tools/call');
      expect(issuer.revoked).toHaveLength(1);
    } finally {
      known.close();
    }
  });
});

/** A person says yes to a login, while its command waits. */
async function did(listing: Listing, reader: Reader, known: ProtectedServer): Promise<string | null> {
  if (listing.kind !== 'commands' || !listing.text.startsWith('svc login ')) return await follow(reader, listing);
  const home = join(reader.folder, '..', 'home');
  const workspace = { folder: reader.folder, home, write: () => {}, remove: () => {} };
  const login = new SvcProcess(workspace, listing.text.trim().split(' ').slice(1));
  expect(await known.sayYes(login)).toContain('You can close this page.');
  const { code, stderr } = await login.ended;
  return code === 0 && shownAs(listing.output ?? '').test(stderr) ? null : stderr;
}
