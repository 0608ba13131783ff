import type { ServerResponse } from 'node:http';

import { refuse, type Misbehaviour } from './s3-stand-in.ts';

/** Misbehaves towards requests of this method and folder, so many times. */
export function atFirst(times: number, where: string, what: Misbehaviour): Misbehaviour {
  let left = times;
  return (request, response, standIn) => {
    if (!`${request.method} ${request.name}`.startsWith(where) || left === 0) return false;
    left -= 1;
    return what(request, response, standIn);
  };
}

/** Every time. */
export function always(where: string, what: Misbehaviour): Misbehaviour {
  return atFirst(Number.POSITIVE_INFINITY, where, what);
}

export function refusing(status: number, code: string): Misbehaviour {
  return (_request, response) => {
    refuse(response, status, code);
    return true;
  };
}

export const cutting: Misbehaviour = (_request, response) => {
  response.destroy();
  return true;
};

export const silent: Misbehaviour = () => true;

/** Does as asked and lets the answer be lost. */
export const losingAnswer: Misbehaviour = (request, response, standIn) => {
  const { writeHead, end } = lostResponse();
  standIn.answer(request, Object.assign(Object.create(response) as ServerResponse, { writeHead, end }));
  response.destroy();
  return true;
};

function lostResponse(): {
  writeHead: (this: ServerResponse) => ServerResponse;
  end: (this: ServerResponse) => ServerResponse;
} {
  return {
    writeHead() {
      return this;
    },
    end() {
      return this;
    },
  };
}
