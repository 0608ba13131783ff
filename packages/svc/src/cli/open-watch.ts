import { type EventStream, openStream } from '@svc/client/event-stream.ts';
import { HttpDoor } from '@svc/client/http-door.ts';
import type { ApproachedCapsule } from './approach-capsule.ts';
import { doorOf } from './capsule-door.ts';
import { streamFaultOf } from './capsule-faults.ts';

/**
 * Asks a capsule for its event stream from the start of what it still holds (D1 "`svc watch` behaviour"). Throws
 * `E-IO-003` when it cannot be reached or answers anything else. The caller closes the stream.
 */
export async function openWatch(capsule: ApproachedCapsule): Promise<EventStream> {
  const method = 'stream/watch';
  try {
    return await openStream(new HttpDoor(doorOf(capsule)), { method, params: {}, lastEventId: '0' });
  } catch (error) {
    throw streamFaultOf(error, { ...capsule, method });
  }
}
