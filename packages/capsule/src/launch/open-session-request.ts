/** What a session is opened from, and who hears of it. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { FailedTask } from '@svc/session/task/task.ts';
import type { Retained } from '@svc/record/sessions/journal-retention.ts';
import type { PreparedLaunch } from './prepare.ts';
import type { RefereeMembership } from './referee-membership.ts';
import type { RunRequest } from './running-capsule.ts';

export interface OpenSessionRequest {
  readonly request: RunRequest;
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  /** It is null when the session is not registered with a referee. */
  readonly membership: RefereeMembership | null;
  /** `host:port` for the card. */
  readonly url: string;
  /** Whether a door token is there with which an approval can be answered. */
  readonly knowsAnswerer: () => Promise<boolean>;
  readonly onFrame: (frame: NumberedFrame, id: EventId) => void;
  readonly onTaskFailed: (failed: FailedTask) => void;
  readonly onWarning: (warning: Diagnostic) => void;
  readonly onRetained: (retained: Retained) => void;
}
