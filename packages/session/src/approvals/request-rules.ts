/** Decides by the rules of a manifest about requests to the hosts that they name. */

import type { Approvals, MatchedCall, Verdict } from '@svc/artifacts/manifest/approvals.ts';
import type { AskedRequest, RequestRuling, RequestRulings } from '@svc/kit/keys/bound-host.ts';
import { type HostRule, parseHostRule, permits } from '@svc/kit/keys/request-rules.ts';
import { type Decision, stricter } from './decision.ts';
import { folded } from './path-rules.ts';
import { fits, shapeOf, type WordShape } from './word-shapes.ts';

type Asked = Pick<AskedRequest, 'method' | 'target'>;

interface Rule extends Decision, HostRule {
  /** Its path as one that asks or denies is held against others. */
  readonly segments: readonly WordShape[];
}

/** The name of the default in rulings. */
export const defaultRule = 'approvals.default';

/** The rules of requests of one capsule. */
export class RequestRules {
  readonly #rules: readonly Rule[];
  readonly #default: Decision;

  constructor({ rules, default: otherwise }: Pick<Approvals, 'rules' | 'default'>) {
    this.#rules = rules.flatMap((rule, index) =>
      (Object.entries(rule) as [Verdict, MatchedCall][]).flatMap(([verdict, { request }]) => {
        const reading = request === undefined ? null : parseHostRule(request);
        if (reading?.kind !== 'rule') return [];
        const segments = segmentsOf(reading.rule.path).map(shapeOf);
        return [{ ...reading.rule, verdict, rule: `approvals.rules[${index}]`, segments }];
      }),
    );
    this.#default = { verdict: otherwise, rule: defaultRule };
  }

  /** Returns null for a host that no rule names. */
  of(origin: string): RequestRulings | null {
    const own = this.#rules.filter((rule) => rule.origin === origin);
    if (own.length === 0) return null;
    return (asked) => {
      const found = own.filter((rule) => (rule.verdict === 'allow' ? isAllowed(rule, asked) : couldMean(rule, asked)));
      const { verdict, rule } = found.length === 0 ? this.#default : found.reduce<Decision>(stricter, found[0] as Rule);
      return verdict === 'allow' ? null : ({ verdict, rule } satisfies RequestRuling);
    };
  }
}

function isAllowed(rule: HostRule, { method, target }: Asked): boolean {
  return permits([rule], method, target);
}

/** Whether a server could take the request for one of the rule: some know no case, decode, or pass over a slash at the end. */
function couldMean({ method: wanted, segments }: Rule, { method, target }: Asked): boolean {
  const asked = method.toUpperCase();
  const isMeant = wanted === '*' || wanted === asked || (wanted === 'GET' && asked === 'HEAD');
  const [path = ''] = target.split('?', 1);
  return isMeant && fits(segments, segmentsOf(path));
}

/** The segments of a path that has one reading. */
function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/').slice(1);
  return (segments.at(-1) === '' ? segments.slice(0, -1) : segments).map((segment) =>
    folded(decodeURIComponent(segment)),
  );
}
