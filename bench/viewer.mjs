// @ts-check
// Measures how long a person waits for the page of a session.
import { fileURLToPath } from 'node:url';

import { loadSubject } from './support/bundle.mjs';
import { median } from './support/rounds.mjs';

/** @typedef {import('./support/row.mjs').Row} Row */
/** @typedef {import('./support/viewer-measures.ts').Viewer} Viewer */

const rounds = 5;

/**
 * Opens the page of a session in Chromium and measures what a person waits for. The floor is what the machine leaves a page at all: an empty page's frame.
 * @param {{ name: string, lines: number, goal: number, unit: 'ms', measure: (viewer: Viewer) => Promise<number> }} row
 * @returns {Row}
 */
function viewerRow({ name, lines, goal, unit, measure }) {
  return {
    name,
    goal: { atMost: goal },
    unit,
    async measure() {
      const { startViewer } = /** @type {{ startViewer: import('./support/viewer-measures.ts').StartViewer }} */ (
        await loadSubject('viewer-subject.ts', ['playwright-core', 'esbuild'])
      );
      const viewer = await startViewer({ root: fileURLToPath(new URL('..', import.meta.url)), lines });
      try {
        /** @type {number[]} */
        const taken = [];
        for (let round = 0; round < rounds; round += 1) taken.push(await measure(viewer));
        const floor = await viewer.emptyFrame();
        const figure = median(taken);
        return { subject: `${lines} lines`, floor: `an empty page's frame ${floor.toFixed(1)} ms`, figure };
      } finally {
        await viewer.close();
      }
    },
  };
}

/** @type {readonly Row[]} */
export const viewerRows = [
  viewerRow({ name: 'viewer-first', lines: 100_000, goal: 600, unit: 'ms', measure: (viewer) => viewer.firstRows() }),
  viewerRow({ name: 'viewer-all', lines: 100_000, goal: 1500, unit: 'ms', measure: (viewer) => viewer.allRows() }),
  viewerRow({ name: 'viewer-scroll', lines: 100_000, goal: 20, unit: 'ms', measure: (viewer) => viewer.scrollFrame() }),
  viewerRow({ name: 'viewer-zoom', lines: 100_000, goal: 20, unit: 'ms', measure: (viewer) => viewer.zoomFrame() }),
  viewerRow({
    name: 'viewer-million',
    lines: 1_000_000,
    goal: 20,
    unit: 'ms',
    measure: (viewer) => viewer.scrollFrame(),
  }),
  viewerRow({ name: 'viewer-live', lines: 60_000, goal: 100, unit: 'ms', measure: (viewer) => viewer.behind() }),
];
