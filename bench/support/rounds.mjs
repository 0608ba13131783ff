// @ts-check
// Measures two things in turn, so that the machine treats both alike.

/**
 * Medians of two measurements taken in turn, so that what the machine does meanwhile falls on both. Which of them goes
 * first changes from round to round. One round before the first is not counted. `ratio` is the median of subject to floor
 * within a round: what a machine that is fast and slow by turns leaves the truest, when the rounds are many and short.
 * @param {{ rounds: number, subject: () => Promise<number>, floor: () => Promise<number> }} pair
 * @returns {Promise<{ subject: number, floor: number, ratio: number }>}
 */
export async function alternate({ rounds, subject, floor }) {
  if (rounds < 9) throw new Error('a median of fewer than 9 rounds says little');
  /** @type {{ subject: number[], floor: number[] }} */
  const taken = { subject: [], floor: [] };
  await subject();
  await floor();
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) taken.subject.push(await subject());
    taken.floor.push(await floor());
    if (round % 2 === 1) taken.subject.push(await subject());
  }
  const ratios = taken.subject.map((value, round) => value / (taken.floor[round] ?? Number.NaN));
  return { subject: median(taken.subject), floor: median(taken.floor), ratio: median(ratios) };
}

/** @param {readonly number[]} values Not empty. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
