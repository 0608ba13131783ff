import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';
import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';

/**
 * `inference.driver.config` as the driver gets it. A component cannot read beside the manifest, so the script driver is given the
 * text of the file that `script` names, as `script_text`. `E-RUN-030` when that file cannot be read.
 */
export function driverConfig({ manifest, directory, locate }: LoadedManifest): Readonly<Record<string, unknown>> {
  const { artifact, config = {} } = manifest.inference.driver ?? {};
  const { script } = config;
  if (artifact !== 'svc-driver-script' || typeof script !== 'string') return config;
  const location = locate(['inference', 'driver', 'config', 'script'], 'value');
  if (normalizeWorkdirPath(script) === undefined) {
    const message = `inference.driver.config.script must be a path below the manifest: ${script}`;
    throw new Diagnostic('E-MAN-003', message, { location });
  }
  try {
    return { ...config, script_text: readFileSync(join(directory, script), 'utf8') };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const reason = systemReason(error);
    throw new Diagnostic('E-RUN-030', `the script ${script} cannot be read: ${reason}`, { location, cause: error });
  }
}
