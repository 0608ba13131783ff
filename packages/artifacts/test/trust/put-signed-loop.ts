import { readFileSync } from 'node:fs';

import { putArchive } from '../../src/store/store-put.ts';

/** Puts two archives of one version, each with its own signature, into a store by turns, and says `put` after each. */
async function putByTurns([root = '', first = '', second = '', rounds = '0']: readonly string[]): Promise<void> {
  for (let round = 0; round < Number(rounds); round += 1) {
    const path = round % 2 === 0 ? first : second;
    const signatures = [readFileSync(`${path}.sigstore.jsonl`, 'utf8')];
    await putArchive({ root, chunks: [readFileSync(path)], platform: null, from: path, signatures });
    process.stdout.write('put\n');
  }
}

void putByTurns(process.argv.slice(2));
