/** The errors of the OpenAI API, and how they are written. */

import type { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { jsonReply, type Reply, type ReplyHeaders } from '@svc/kit/http/reply.ts';

interface FaultFacts {
  /** The field of the request that is wrong. */
  readonly param?: string;
  readonly code?: string;
  readonly headers?: ReplyHeaders;
}

/** A request that is answered with an error in the shape that OpenAI's clients read. */
export class OpenAiFault extends Error {
  readonly status: number;
  readonly facts: FaultFacts;

  constructor(status: number, message: string, facts: FaultFacts = {}) {
    super(message);
    this.name = 'OpenAiFault';
    this.status = status;
    this.facts = facts;
  }

  /** What stands under `error`. */
  get object(): Readonly<Record<string, unknown>> {
    const { param = null, code = null } = this.facts;
    return { message: this.message, type: typeOf(this.status), param, code };
  }

  get reply(): Reply {
    return jsonReply({ error: this.object }, this.status, this.facts.headers);
  }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** `param` is the path of what is wrong, `clause` follows it: `must be a string`. */
export function wrongField(param: string, clause: string): OpenAiFault {
  return new OpenAiFault(400, `${param} ${clause}`, { param, code: 'invalid_value' });
}

/** Something that the API has and a capsule has not. */
export function unserved(param: string, clause: string): OpenAiFault {
  return new OpenAiFault(400, `${param} ${clause}`, { param, code: 'unsupported_parameter' });
}

/** A refusal that all doors share, in the shape of this one. */
export function ofRefusal({ status, code, message, headers }: HttpRefusal): OpenAiFault {
  return new OpenAiFault(status, message, headers === undefined ? { code } : { code, headers });
}
