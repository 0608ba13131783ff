/** What a contained program may use of its machine where nothing else is said: in a manifest (docs/manifest.md "Keys"), and in the sandbox alone. */

const gibibyte = 1024 ** 3;

/** Sizes in bytes, times in seconds. */
export const defaultLimits = {
  processes: 128,
  open_files: 1024,
  file_size: 4 * gibibyte,
  cpu: 3600,
  memory: 2 * gibibyte,
  workdir_max_bytes: 10 * gibibyte,
} as const;
