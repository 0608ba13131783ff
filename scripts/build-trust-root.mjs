// Puts the list of authorities and logs of the public Sigstore instance into dist/trust/, with the metadata that vouch for newer ones: both come with
// the pinned @sigstore/tuf, so nothing is fetched.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const mirror = 'https://tuf-repo-cdn.sigstore.dev';

/**
 * @param {string} root Of the checkout.
 * @param {string} out Where `trust/` goes.
 */
export function buildTrustRoot(root, out) {
  const seeds = JSON.parse(readFileSync(join(root, 'node_modules/@sigstore/tuf/seeds.json'), 'utf8'))[mirror];
  const files = { 'root.json': seeds?.['root.json'], 'trusted_root.json': seeds?.targets?.['trusted_root.json'] };
  mkdirSync(join(root, out, 'trust'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    if (content === undefined) throw new Error(`@sigstore/tuf has no ${name} of ${mirror}`);
    const bytes = Buffer.from(content, 'base64');
    const path = join(root, out, 'trust', name);
    if (!existsSync(path) || !readFileSync(path).equals(bytes)) writeFileSync(path, bytes);
  }
}
