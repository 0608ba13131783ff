import type { CallVerdict, CheckedCall } from '../tools/dispatch.ts';

/** What a hook has committed to be shown with the task's result. */
export interface HookArtifact {
  readonly hookName: string;
  readonly content: string;
}

/** What a task asks of the session's hooks while it runs (contracts §9). */
export interface TaskHooks {
  /** Asked before a tool, command or skill runs. */
  judgeCall(call: CheckedCall & { readonly taskId: string; readonly turn: number }): Promise<CallVerdict>;
  /** What hooks committed during the task, in the order of the hooks; handed out once. */
  takeArtifacts(taskId: string): readonly HookArtifact[];
}

/** A session without hooks. */
export const noHooks: TaskHooks = {
  judgeCall: async () => ({ kind: 'proceed' }),
  takeArtifacts: () => [],
};
