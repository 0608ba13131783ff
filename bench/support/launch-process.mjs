// @ts-check
// A process that launches on request: node launch-process.mjs <bundle> <class> <package root> <megabytes of heap>
import { pathToFileURL } from 'node:url';

const [bundle = '', wanted = '', packageRoot = '', megabytes = '0'] = process.argv.slice(2);
const held = Array.from({ length: Number(megabytes) }, (_, index) => numbers(index));
const { openLaunches } = await import(pathToFileURL(bundle).href);
const subject = await openLaunches(wanted, packageRoot);

process.on(
  'message',
  (/** @type {{ launches: number } | { bare: number } | { first: string[] }} */ order) => void answer(order),
);
process.once('disconnect', () => void subject.close());
process.send?.('ready');

/** @param {{ launches: number } | { bare: number } | { first: string[] }} order */
async function answer(order) {
  const took = await tookMs(order);
  // Said with each answer, so that what is held cannot be let go of.
  process.send?.({ took, held: held.length });
}

/**
 * @param {{ launches: number } | { bare: number } | { first: string[] }} order
 * @returns {Promise<number>}
 */
async function tookMs(order) {
  if ('first' in order) return await subject.first(order.first);
  return 'bare' in order ? await subject.bare(order.bare) : await subject.contained(order.launches);
}

/**
 * A megabyte on the heap of JavaScript, every page of it written to.
 * @param {number} start
 */
function numbers(start) {
  return Array.from({ length: 1024 ** 2 / 8 }, (_, index) => start + index + 0.5);
}
