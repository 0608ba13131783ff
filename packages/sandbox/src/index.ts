/** Runs commands that can do no more than they were granted, and says what is enforced. */

export { explain } from './library/explain.ts';
export { launch } from './library/launch.ts';
export { probe } from './library/probe.ts';
export type {
  Ended,
  ExplainedFile,
  ExplainedLimit,
  Explanation,
  Grants,
  Launched,
  LaunchRequest,
  Limits,
  Output,
  Probe,
  Refusal,
  SandboxClass,
  SandboxRequest,
} from './library/requests.ts';
export { isSandboxError, type SandboxError, type SandboxErrorCode } from './library/sandbox-error.ts';
