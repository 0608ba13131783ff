/** Notes what a driver's answer has no place for, for the host that it runs in (docs/drivers.md "Notes"). */

/** What is noted. A host that does not know a note passes over it. */
export type DriverNote =
  /** The driver waits now, and asks again then: for the `attempt`-th time of `of`. */
  | { readonly retry: { readonly wait_ms: number; readonly attempt: number; readonly of: number } }
  /** The provider refused a tool with these words, and is asked again without it. */
  | { readonly left_out: { readonly tool: string; readonly reason: string } }
  /** How many input tokens the provider had in its cache, and how many it has put there, if it says so. */
  | { readonly cache: CachedTokens };

/** Tokens of a cache that a provider counted. */
export interface CachedTokens {
  readonly read?: number;
  readonly write?: number;
}
