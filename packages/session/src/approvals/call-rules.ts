/** Decides by the rules of a manifest whether a call runs, is asked about or is refused. */

import type { Approvals, MatchedCall, Verdict } from '@svc/artifacts/manifest/approvals.ts';
import { shells } from '@svc/artifacts/manifest/names.ts';
import { commandWords } from '../tools/shell-command.ts';
import type { CheckedCall, FileOperation } from '../tools/tool.ts';
import { type Decision, stricter, strictness } from './decision.ts';
import { PathRules } from './path-rules.ts';
import { commandsOfLine, readShells } from './shell-line.ts';
import { fits, type WordShape, wordShapeOf } from './word-shapes.ts';

/** A call as rules look at it. */
export type RuledCall = Pick<CheckedCall, 'toolName' | 'kind' | 'artifact' | 'arguments'>;

export type CallRuling = Decision & {
  /** The words with which a command starts; null for a call of something else. */
  readonly argv: readonly string[] | null;
  /** It is a line of a shell that cannot be read for sure. */
  readonly isOpaque: boolean;
  /** The names of the programs that it starts, as far as it can be read. */
  readonly programs?: readonly string[];
};

/** A command with more words is refused: rules would have to be held to each. */
const maxWords = 4096;

interface Rule extends Decision {
  readonly match: MatchedCall;
  readonly words: readonly WordShape[] | null;
}

/** The rules of one capsule. A further rule with `ask` or `deny` never lets more run without a person. */
export class CallRules {
  readonly #rules: readonly Rule[];
  readonly #default: Decision;
  readonly #opaque: Decision;
  /** By the names of the tools of the session. */
  readonly #paths = new Map<string, PathRules | null>();

  constructor({ rules, default: otherwise, opaque }: Pick<Approvals, 'rules' | 'default' | 'opaque'>) {
    this.#rules = rules.flatMap((rule, index) =>
      (Object.entries(rule) as [Verdict, MatchedCall][]).map(([verdict, match]) => ({
        verdict,
        rule: `approvals.rules[${index}]`,
        match,
        words: match.command === undefined ? null : match.command.map(wordShapeOf),
      })),
    );
    this.#default = { verdict: otherwise, rule: 'approvals.default' };
    this.#opaque = { verdict: opaque, rule: 'approvals.opaque' };
  }

  /** Returns null for what nobody is asked about: a skill is text, and each step of a plan is a call of its own. */
  of(call: RuledCall): CallRuling | null {
    if (call.kind === 'shell') return this.#command(call.toolName, String(call.arguments['command']));
    const ruling = this.#strictest((rule) => matchesTool(rule.match, call));
    if (ruling === null && (call.kind === 'skill' || call.toolName === 'submit-plan')) return null;
    return { ...(ruling ?? this.#default), argv: null, isOpaque: false };
  }

  /** What the rules say of a file that the component of a call is about to change; null for what passes. */
  ofChange(call: RuledCall, change: FileOperation): CallRuling | null {
    const rules = this.#pathsOf(call);
    if (rules === null) return null;
    // Nobody is asked twice by the default: it has decided about the call.
    const otherwise = this.of(call)?.rule === this.#default.rule ? null : this.#default;
    const decision = rules.of(change, otherwise);
    return decision === null ? null : { ...decision, argv: null, isOpaque: false };
  }

  /** Returns null for a tool that no rule of paths names. */
  #pathsOf(call: RuledCall): PathRules | null {
    const known = this.#paths.get(call.toolName);
    if (known !== undefined) return known;
    const own = this.#rules.filter(({ match }) => match.path !== undefined && namesTool(match, call));
    const rules = own.length === 0 ? null : new PathRules(own);
    this.#paths.set(call.toolName, rules);
    return rules;
  }

  #command(name: string, command: string): CallRuling | null {
    const split = commandWords(name, command);
    // Nothing is started of it, and the tool says so.
    if (split.kind === 'unbalanced') return null;
    const argv = [name, ...split.words];
    const lines = shells.has(name) ? (readShells.has(name) ? commandsOfLine(command) : null) : [argv];
    const isOpaque = lines === null;
    const count = (lines ?? []).reduce((sum, words) => sum + words.length, argv.length);
    if (count > maxWords) return { verdict: 'deny', rule: `more than ${maxWords} words`, argv, isOpaque };
    const whole = this.#ofWords(argv);
    const programs = [...new Set([name, ...(lines ?? []).map(([first = '']) => first)])];
    if (lines === null) {
      const refused = whole === null || whole.verdict === 'allow' ? this.#opaque : stricter(this.#opaque, whole);
      return { ...refused, argv, isOpaque };
    }
    const parts = lines.map((words) => this.#ofWords(words));
    // A line that is allowed as a whole still holds nothing that is asked about or denied.
    const unmatched = whole?.verdict === 'allow' ? whole : this.#default;
    const decided = parts.map((part) => part ?? unmatched).reduce(stricter);
    return { ...(whole === null ? decided : stricter(decided, whole)), argv, isOpaque, programs };
  }

  #ofWords(words: readonly string[]): Decision | null {
    return this.#strictest(({ words: shapes, verdict }) => shapes !== null && matchesWords(shapes, words, verdict));
  }

  #strictest(matches: (rule: Rule) => boolean): Decision | null {
    let found: Rule | null = null;
    for (const rule of this.#rules) {
      if (found !== null && strictness[rule.verdict] <= strictness[found.verdict]) continue;
      if (matches(rule)) found = rule;
    }
    return found === null ? null : { verdict: found.verdict, rule: found.rule };
  }
}

function namesTool({ tool }: MatchedCall, { toolName, artifact }: RuledCall): boolean {
  return tool !== undefined && (tool === toolName || tool === artifact);
}

function matchesTool(match: MatchedCall, call: RuledCall): boolean {
  const { args, path, spawn } = match;
  if (spawn !== undefined) return call.toolName === 'delegate-task' && call.arguments['capsule'] === spawn;
  if (path !== undefined || !namesTool(match, call)) return false;
  return Object.entries(args ?? {}).every(
    ([key, value]) => Object.hasOwn(call.arguments, key) && call.arguments[key] === value,
  );
}

/**
 * Whether words are those of a rule. For `ask` and `deny`, a path of the program counts as its name; an `allow` is for the very word, since a file of that name
 * may lie anywhere.
 */
export function matchesWords(shapes: readonly WordShape[], words: readonly string[], verdict: Verdict): boolean {
  if (fits(shapes, words)) return true;
  const [first = '', ...rest] = words;
  return verdict !== 'allow' && first.includes('/') && fits(shapes, [first.slice(first.lastIndexOf('/') + 1), ...rest]);
}
