// @ts-check
// Swaps two things over and over, until its stdin ends: `place` holds one of them, `other` the other. Says `ready` once it has begun and, at its
// end, how often it has swapped them. The first is at `place` again when it ends.
import { lstatSync, renameSync } from 'node:fs';

const [, , place = '', other = '', away = ''] = process.argv;
let rounds = 0;
let goesOn = true;

process.stdin.resume();
process.stdin.once('end', () => {
  goesOn = false;
});

console.log('ready');
swap();

function swap() {
  for (let round = 0; round < 100; round += 1) {
    exchange();
    rest(round);
    exchange();
    rest(round);
    rounds += 2;
  }
  if (goesOn) setImmediate(swap);
  else console.log(String(rounds));
}

function exchange() {
  renameSync(place, away);
  renameSync(other, place);
  renameSync(away, other);
}

/**
 * Leaves what is there for a while, now shorter and now longer, so that a reader meets every state there is.
 * @param {number} round
 */
function rest(round) {
  for (let look = 0; look < round % 32; look += 1) lstatSync(place);
}
