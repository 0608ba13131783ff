/** What a command may touch of the outside: its arguments aside, everything comes through here. */
export interface CommandContext {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly stderrIsTerminal: boolean;
  /** Told by `svc run` once its listener is up: what a start needs has been compiled by then. */
  readonly onStarted?: () => void;
}
