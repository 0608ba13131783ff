/** Runs each failing task without JSON, too. */

import { describePlainRuns, failedRuns } from './failing-runs.ts';

describePlainRuns(failedRuns);
