/** Gives the driver of a scripted model its script. */

import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readBeneath } from '@svc/kit/files/read-beneath.ts';

const largestScript = 16 * 1024 * 1024;

/**
 * `inference.driver.config` as the driver gets it. A component cannot read beside the manifest, so the script driver is given the
 * text of the file that `script` names, as `script_text`. `E-RUN-030` when that file cannot be read.
 */
export function driverConfig({
  manifest,
  directory,
  locate,
}: Pick<LoadedManifest, 'manifest' | 'directory' | 'locate'>): Readonly<Record<string, unknown>> {
  const { artifact, config = {} } = manifest.inference.driver ?? {};
  const { script } = config;
  if (artifact !== 'svc-driver-script' || typeof script !== 'string') return config;
  const location = locate(['inference', 'driver', 'config', 'script'], 'value');
  const path = normalizeWorkdirPath(script);
  if (path === undefined) {
    const message = `inference.driver.config.script must be a path below the manifest: ${script}`;
    throw new Diagnostic('E-MAN-003', message, { location });
  }
  const reading = readBeneath(directory, path, largestScript);
  if (reading.kind === 'bytes') return { ...config, script_text: reading.bytes.toString('utf8') };
  const { reason, ...more } = reading.kind === 'absent' ? { reason: 'no such file or directory' } : reading;
  throw new Diagnostic('E-RUN-030', `the script ${script} cannot be read: ${reason}`, { location, ...more });
}
