/** Time and randomness of the referee; the only ones its code uses. */
export interface RefereeClock {
  /** Unix milliseconds, for what is told to others. */
  now(): number;
  /** Milliseconds that only rise: what expires does so by these, whatever is done to the clock of the machine. */
  monotonicMs(): number;
  randomBytes(size: number): Uint8Array;
}
