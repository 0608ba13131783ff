// @ts-check
// Measures what the view of a session costs a terminal and the processor.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { bundleSubject } from './support/bundle.mjs';
import { alternate } from './support/rounds.mjs';

const terminal = fileURLToPath(new URL('support/pseudo-terminal.py', import.meta.url));

/**
 * Processor time and bytes of 10,000 lines that a model streams in 40,000 pieces, shown by the view of a session, against writing the pieces as they
 * are. The figure is the greater of the two ratios.
 * @type {import('./support/row.mjs').Row}
 */
export const terminalLines = {
  name: 'terminal-lines',
  goal: { atMost: 1.3 },
  unit: 'times',
  async measure() {
    const subject = await bundleSubject('terminal-subject.ts');
    try {
      const bytes = { view: 0, plain: 0 };
      /** @param {'view' | 'plain'} kind */
      const cpuMs = async (kind) => {
        const { stdout } = await promisify(execFile)('python3', [terminal, process.execPath, subject.path, kind]);
        const told = JSON.parse(stdout);
        bytes[kind] = told.bytes;
        return told.cpuMs;
      };
      const measured = await alternate({
        rounds: 9,
        subject: () => cpuMs('view'),
        floor: () => cpuMs('plain'),
      });
      const ratio = bytes.view / bytes.plain;
      return {
        subject: `view ${measured.subject.toFixed(0)} ms, ${(bytes.view / 1000).toFixed(0)} KB`,
        floor: `plain ${measured.floor.toFixed(0)} ms, ${(bytes.plain / 1000).toFixed(0)} KB`,
        figure: Math.max(measured.subject / measured.floor, ratio),
      };
    } finally {
      await subject.remove();
    }
  },
};
