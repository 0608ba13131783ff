/** The version of `svc`. */

import packageJson from '../../../package.json' with { type: 'json' };

/** The version of this runtime; capsules of v0.3.0 or earlier serve no `serves` key (D1 "Versioning" 1). */
export const version: string = packageJson.version;
