import type { DriverRequest, DriverResponse } from './driver.ts';
import { wellFormed, withWellFormedText } from './well-formed.ts';

/** `svc:driver/inference` as a guest exports it: what `infer` throws becomes the error of the call, by its message. */
export function driverExport(infer: (request: DriverRequest) => DriverResponse): {
  readonly infer: (request: DriverRequest) => DriverResponse;
} {
  return {
    infer: (request) => {
      try {
        return withWellFormedText(infer(request));
      } catch (error) {
        // Whatever went wrong has to reach the host as text that the host can take.
        throw error instanceof Error ? new Error(wellFormed(error.message), { cause: error }) : error;
      }
    },
  };
}
