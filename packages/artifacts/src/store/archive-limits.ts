/** What an archive may cost the machine that opens it. */
export interface ArchiveLimits {
  readonly maxArchiveBytes: number;
  /** Of all files together, unpacked (ADR 0010). */
  readonly maxUnpackedBytes: number;
  readonly maxEntries: number;
  /** Of a file that is read as text: `svc.yaml`, `skill.md`, `task.md`. */
  readonly maxTextBytes: number;
}

const mebibyte = 1024 * 1024;

export const archiveLimits: ArchiveLimits = {
  maxArchiveBytes: 512 * mebibyte,
  maxUnpackedBytes: 500 * mebibyte,
  maxEntries: 10_000,
  maxTextBytes: mebibyte,
};
