/** Names what went wrong in a request when its door has no better word, as telemetry does. */

import type { otherError as telemetryName } from '@svc/telemetry/genai-names.ts';

export const otherError: typeof telemetryName = '_OTHER';
