/** The files of one artifact, wherever they lie: an archive, or a directory that was read whole. */
export interface ArtifactContent {
  /** The place, for messages. */
  readonly where: string;
  has(name: string): boolean;
  /** `E-ART-004` when there is no such file, `E-ART-001` when its bytes are not what they should be. */
  read(name: string): Promise<Buffer>;
  /** As `read`, of its first bytes alone: the rest is neither read nor checked. */
  readStart(name: string, maxBytes: number): Promise<Buffer>;
  /** As `read`, of a text; `E-ART-003` above 1 MiB. */
  readText(name: string): Promise<string>;
}
