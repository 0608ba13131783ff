/** Tells what a launch would be granted, without the launch. */

import { arch, platform } from 'node:process';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import { redactedTexts } from '../trace/file-trace.ts';
import { commandProblems } from './launch-warnings.ts';
import { scopeOfLaunch, type ScopeRequest } from './scope-of-launch.ts';

/** What a launch would be granted, without the launch (D1 "Scope report"). */
export interface ScopeExplanation {
  readonly scope: ScopeObject;
  /** The scope as JSON: the bytes that the trace of a session has as `effective_grants`. */
  readonly json: string;
  /** Why a launch would be refused; empty when manifest, configuration and host allow it. */
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Takes the secrets of the capsule out of a text. */
  readonly redact: (text: string) => string;
}

/**
 * Tells the scope from manifest, configuration and host alone: looks no host or artifact up, compiles nothing, makes no directory
 * and binds no port (D1 "Command line"). Throws a Diagnostic or a DiagnosticList where the scope cannot be told.
 */
export async function explainScope(request: ScopeRequest): Promise<ScopeExplanation> {
  const launch = await scopeOfLaunch(request, {
    userHome: request.home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    // A report contacts no registry.
    sources: () => [],
  });
  const { scope, redactor, refusals } = launch;
  // Where nothing is kept from files, what a command needs is there or not as for any other program.
  const problems = scope.containment.achieved === 'advisory' ? [] : await commandProblems(launch);
  const warnings = [...launch.warnings, ...problems];
  const redact = (text: string): string => redactor.redact(text);
  return { scope, json: JSON.stringify(redactedTexts(scope, redact)), refusals, warnings, redact };
}
