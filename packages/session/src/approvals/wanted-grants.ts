/** Asks a person about what a session was not granted, and reports the answer to the model. */

import { inertJson } from '@svc/kit/diagnostics/printable.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { destinationOf } from '@svc/kit/net/network-destination.ts';
import type { HostQuestions } from '../tools/asked-hosts.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { DispatchedCall } from '../tools/tool.ts';
import { type AskedEffect, cut, sorted } from './asked-effect.ts';

/** A program that a session was not granted and that one of its calls wanted. */
export interface WantedCommand {
  readonly name: string;
  /** Where it lies. */
  readonly program: string;
}

/** The same for a host that one of its commands wanted. */
export interface WantedHost {
  /** With its scheme and its port, also the usual one. */
  readonly host: string;
}

/** The same for writing in the folder that it was granted read only. */
export interface WantedWriting {
  /** The folder, absolute. */
  readonly write: string;
}

export type Wanted = WantedCommand | WantedHost | WantedWriting;

/** What is asked about it: no call has these keys, so no answer to a call is one to this. */
export function wantedEffect(wanted: Wanted): AskedEffect {
  const { thing, summary } =
    'host' in wanted
      ? { thing: { host: wanted.host }, summary: wanted.host }
      : 'write' in wanted
        ? { thing: { write: wanted.write }, summary: wanted.write }
        : { thing: { command: wanted.name, program: wanted.program }, summary: [wanted.name, wanted.program] };
  const effect = { kind: 'grant', ...thing };
  const digest = `sha256:${sha256Hex(JSON.stringify(sorted(effect)))}`;
  return { effect, isWhole: true, digest, summary: cut(inertJson(summary)) };
}

/** A host in the spelling of `capabilities.network.allow`, with its port even where that is the usual one. */
function withPort(host: string): string {
  const url = new URL(host);
  return `${url.protocol}//${url.hostname}:${destinationOf(url)?.port}`;
}

/** What a person has said to it; `once` is for one command. */
type Granted = { readonly option: 'once' | 'session' } | { readonly option: null; readonly reason: string };

/** For the model. */
function toldOf(wanted: Wanted, granted: Granted): string {
  const name = 'host' in wanted ? wanted.host : 'write' in wanted ? 'writing in the folder' : wanted.name;
  if (granted.option === null) return `[${name} stays refused: ${granted.reason}]`;
  const isOnce = granted.option === 'once';
  if ('host' in wanted) {
    const far = isOnce ? 'to this command, or to the next one if this one did not wait' : 'to commands from now on';
    return `[a person has granted ${name} ${far}]`;
  }
  if ('write' in wanted) {
    const far = isOnce ? 'to the next command alone' : 'to commands from now on';
    return `[a person has granted ${name} ${far}: do what was refused again, with sh]`;
  }
  return `[a person has granted ${name} ${isOnce ? 'for the next command alone' : 'from now on'}: start it with sh]`;
}

/** Grants commands, hosts and writing while a session runs. */
export interface Widening {
  /** What the call wanted, is not decided yet and a person may grant now; null where that is nothing, or nobody is there. */
  readonly wanted: (call: DispatchedCall) => WantedCommand | WantedWriting | null;
  /** Whether a person may grant a host now that a command asks for, spelt as in `capabilities.network.allow`. */
  readonly wantsHost: (host: string) => boolean;
  /** A person has granted it to one command or to all of the session, or with null refused it. */
  readonly decided: (wanted: Wanted, option: ApprovalOption | null) => void;
}

/** What a person may grant to the calls of one task. */
export interface TaskWidening {
  /** Has a person judge what the call was refused, and resolves to words for the model on all that was judged during the call; null without any. */
  readonly ended: (ended: { readonly call: DispatchedCall; readonly place: string }) => Promise<string | null>;
  /** For the call at that place; `held` sees how each question ends. */
  readonly hosts: (place: string, held: <T>(ask: () => Promise<T>) => Promise<T>) => HostQuestions;
}

/** Puts a question of one task, and waits. */
type AskToGrant = (place: string, effect: AskedEffect) => Promise<Granted>;

interface WideningsDeps {
  readonly widening?: Widening;
  readonly recorder: Recorder;
  readonly redact: (text: string) => string;
}

/** Calls whose result has words on hosts, at a time. */
const maxTold = 100;

/** What one session may be granted while it runs. */
export class Widenings {
  readonly #deps: WideningsDeps;
  /** Words for the model on hosts, by the place of the call. */
  readonly #told = new BoundedMap<string, readonly string[]>(maxTold);

  constructor(deps: WideningsDeps) {
    this.#deps = deps;
  }

  of(ask: AskToGrant): TaskWidening {
    const { recorder, widening, redact } = this.#deps;
    const asked = async (place: string, wanted: Wanted): Promise<Granted> => {
      const granted = await ask(place, wantedEffect(wanted));
      widening?.decided(wanted, granted.option);
      return granted;
    };
    return {
      ended: async ({ call, place }) => {
        const told = [...(this.#told.get(place) ?? [])];
        this.#told.delete(place);
        // A command that writes can miss both a program and the folder.
        for (const which of ['', '-2']) {
          const wanted = recorder.find(`${place}/wanted${which}`, () => widening?.wanted(call) ?? null);
          if (wanted === null) break;
          told.push(toldOf(wanted, await asked(`${place}/grant${which}`, wanted)));
        }
        return told.length === 0 ? null : told.join('\n');
      },
      hosts: (place, held) => ({
        // The server of a host is sent its name, so no secret of the capsule may stand in it.
        wanted: (host) => widening?.wantsHost(host) === true && redact(host) === host,
        ask: async (host) => {
          const wanted = { host: withPort(host) };
          const granted = await held(async () => await asked(`${place}/host`, wanted));
          this.#told.set(place, [...(this.#told.get(place) ?? []), toldOf(wanted, granted)]);
          return granted.option !== null;
        },
      }),
    };
  }
}
