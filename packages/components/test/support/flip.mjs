// Swaps `flip` between a directory and a link that leads out, as fast as it can, until it is ended.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

const [flip, real, link] = ['flip', 'real', 'link'].map((name) => join(workerData, name));

parentPort.postMessage('started');
for (;;) {
  renameSync(flip, real);
  renameSync(link, flip);
  renameSync(flip, link);
  renameSync(real, flip);
}
