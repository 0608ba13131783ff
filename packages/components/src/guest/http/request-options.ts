import { HostObject } from '../retained.ts';

/** `wasi:http/types#request-options`; durations are nanoseconds. */
export class RequestOptions extends HostObject {
  #connect: bigint | undefined;
  #firstByte: bigint | undefined;
  #betweenBytes: bigint | undefined;

  connectTimeout(): bigint | undefined {
    return this.#connect;
  }

  setConnectTimeout(duration: bigint | undefined): void {
    this.#connect = duration;
  }

  firstByteTimeout(): bigint | undefined {
    return this.#firstByte;
  }

  setFirstByteTimeout(duration: bigint | undefined): void {
    this.#firstByte = duration;
  }

  betweenBytesTimeout(): bigint | undefined {
    return this.#betweenBytes;
  }

  setBetweenBytesTimeout(duration: bigint | undefined): void {
    this.#betweenBytes = duration;
  }
}

/** At least one, since no time at all cannot be waited; null when there is no limit. */
export function milliseconds(duration: bigint | undefined): number | null {
  const longestMs = 2n ** 31n - 1n;
  if (duration === undefined) return null;
  const ms = duration / 1_000_000n;
  return ms > longestMs ? Number(longestMs) : Math.max(1, Number(ms));
}
