import { systemClock } from '@svc/kit/system-clock.ts';
import { capsuleStepsWithoutReferee } from '../tools/plan/capsule-step.ts';
import { createSubmitPlanTool } from '../tools/plan/submit-plan-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { recordRedaction } from '../resources/handle-id.ts';
import type { StageParts } from './stage-parts.ts';

/** `submit-plan`, for a capsule that it is granted to. */
export function planTool({ launch, directories, delegations }: StageParts): Tool {
  return createSubmitPlanTool({
    sessionDirectory: directories.session,
    redact: recordRedaction(launch.redactor),
    runCapsuleStep: delegations?.runStep ?? capsuleStepsWithoutReferee(launch.env['SVC_REFEREE_URL']),
    clock: systemClock,
  });
}
