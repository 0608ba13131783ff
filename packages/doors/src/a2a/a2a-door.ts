/** The A2A door of a session: one agent that is reached through two bindings. */

import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import type { DoorCore } from '../core/door-core.ts';
import { A2aCalls } from './calls.ts';
import { a2aPath } from './card.ts';
import { HttpJsonBinding } from './http-json.ts';
import { JsonRpcBinding } from './json-rpc.ts';
import type { PushConfigs } from './push/push-configs.ts';

/** Everything at and below `/a2a`. */
export class A2aDoor {
  readonly #jsonRpc: JsonRpcBinding;
  readonly #httpJson: HttpJsonBinding;

  constructor(core: DoorCore, push: PushConfigs | null) {
    const calls = new A2aCalls(core, push);
    this.#jsonRpc = new JsonRpcBinding(calls);
    this.#httpJson = new HttpJsonBinding(calls);
  }

  handle(request: HttpRequest): Reply | Promise<Reply> {
    const below = request.path.slice(a2aPath.length);
    // Some HTTP libraries put a slash behind the address of an interface.
    return below === '' || below === '/' ? this.#jsonRpc.handle(request) : this.#httpJson.handle(request, below);
  }
}
