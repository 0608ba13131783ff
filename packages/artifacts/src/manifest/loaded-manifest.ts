/** A manifest that was read and checked. */

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { Diagnostic, type SourceLocation } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CapsuleManifest } from './schema.ts';
import type { Reference } from './references.ts';
import type { KeyPath } from './key-path.ts';

export interface LoadedManifest {
  /** The whole text of the file; a credential may stand in it. */
  readonly text: string;
  /** Defaults filled in, references resolved, unknown keys gone. Never holds `inference.api_key`, a secret of `notify` or the value of a credential. */
  readonly manifest: CapsuleManifest;
  /** `inference.api_key`; absent when the manifest has none or was only inspected, and for a replay also when its variable is not set. */
  readonly apiKey?: Secret;
  /** The variable that `inference.api_key` refers to; null where the file has the key itself, or none. */
  readonly keyVariable: string | null;
  /** The keys of `capabilities.credentials` by name, and what is secret beside them by `besideValue`; absent as `apiKey` is. */
  readonly credentials?: ReadonlyMap<string, Secret>;
  /** `notify.secret` or `notify.token`; absent as `apiKey` is. */
  readonly notifySecret?: Secret;
  /** The variables of keys and secrets beside `keyVariable`; absent without any. */
  readonly secretVariables?: readonly string[];
  /** The text of `system_prompt` or of the file; empty when there is neither. */
  readonly systemPrompt: string;
  /** In the order of the file. */
  readonly warnings: readonly Diagnostic[];
  /** Values that came from variables. A message shows the reference, because the value may be a credential. */
  readonly references: readonly Reference[];
  readonly file: string;
  /** Absolute path of the workspace root. */
  readonly directory: string;
  /** Where a key of the manifest stands. */
  readonly locate: (path: KeyPath, part: 'key' | 'value') => SourceLocation;
  /** Caches it for the next start if that is allowed; called once nothing refuses this one. Absent where it came from the cache, and without a cache. */
  readonly keep?: () => void;
}

/** The address of the target that `notify` names; null without one. */
export function notifiedAddress({ notify }: CapsuleManifest): URL | null {
  const address = notify?.webhook ?? notify?.ntfy;
  return address === undefined ? null : new URL(address);
}

/** Where a secret beside the value of a credential stands in `LoadedManifest.credentials`. */
export function besideValue(credential: string, key: 'session_token' | 'client_secret'): string {
  return `${credential}.${key}`;
}
