/** Holds requests to the rules of a host: a method and a path each (docs/boundary.md "Rules"). */

/** One rule. In `path`, `*` stands for one segment and `**`, which comes last, for all that follows. */
export interface RequestRule {
  /** `*` for any. */
  readonly method: string;
  readonly path: string;
}

/** A rule with the origin that it is for, as a URL has it: `https://api.github.com`. */
export interface HostRule extends RequestRule {
  readonly origin: string;
}

type RuleReading<Rule extends RequestRule> =
  | { readonly kind: 'rule'; readonly rule: Rule }
  /** `reason` is a clause: `has a query`. */
  | { readonly kind: 'malformed'; readonly reason: string };

const ruleShape = /^(\*|[A-Z]{1,32}) (\/\S*)$/;

/** Reads `GET /repos/acme/**`. */
export function parseRule(text: string): RuleReading<RequestRule> {
  const [, method, path] = ruleShape.exec(text) ?? [];
  if (method === undefined || path === undefined)
    return malformed('is not a method and a path, such as GET /repos/acme/**');
  if (path.includes('?')) return malformed('has a query, which is not compared');
  const segments = path.split('/').slice(1);
  if (segments.some((segment) => segment.includes('*') && segment !== '*' && segment !== '**'))
    return malformed('has a * that is not a whole segment');
  if (segments.slice(0, -1).includes('**')) return malformed('has a ** that is not last');
  const fault = pathFault(path.replaceAll('*', 'x'));
  return fault === null ? { kind: 'rule', rule: { method, path } } : malformed(`has a path that ${fault}`);
}

const hostRuleShape = /^(\S+) (https?:\/\/[^\s/?#@\\]+)(\/\S*)$/;

/** Reads `POST https://api.github.com/repos/**`. */
export function parseHostRule(text: string): RuleReading<HostRule> {
  const [, method, host = '', path] = hostRuleShape.exec(text) ?? [];
  if (path === undefined || !URL.canParse(host))
    return malformed(
      'is not a method, a host with its scheme, and a path, such as POST https://api.github.com/repos/**',
    );
  const reading = parseRule(`${method} ${path}`);
  return reading.kind === 'malformed'
    ? reading
    : { kind: 'rule', rule: { ...reading.rule, origin: new URL(host).origin } };
}

function malformed(reason: string): { readonly kind: 'malformed'; readonly reason: string } {
  return { kind: 'malformed', reason };
}

/** Delimiters and control characters that some servers decode before they look for the path, and others after. */
const encodedDelimiter = /%(?:2[35EF]|3[BF]|5C|[01][0-9A-F]|7F)/i;
const delimiterInside = /[./\\%;?#]/;

/**
 * Why two servers could read a path in two ways, as a clause; null for a path that has one reading. Its query is not looked at.
 */
export function pathFault(target: string): string | null {
  const [path = ''] = target.split('?', 1);
  if (!path.startsWith('/')) return 'does not begin with /';
  if (/[^\x21-\x7e]/.test(path) || /[\\#;"<>^`{|}]/.test(path)) return 'has a character that does not stand in a path';
  if (encodedDelimiter.test(path)) return 'has an encoded delimiter';
  if (path.includes('//')) return 'has an empty segment';
  const decoded = decodedSegments(path);
  if (decoded === null) return 'has an encoding that is none of UTF-8';
  if (decoded.some((segment) => segment !== '' && /^[. ]*$/.test(visible(segment)))) return 'has a segment of dots';
  return decoded.some(foldsToDelimiter) ? 'has a character that folds to a delimiter' : null;
}

/** Returns null for what is not UTF-8, or no encoding. */
function decodedSegments(path: string): readonly string[] | null {
  if (/%(?![0-9A-Fa-f]{2})/.test(path)) return null;
  try {
    return path.split('/').map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** As who passes over invisible characters reads it. */
function visible(segment: string): string {
  return segment.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
}

function foldsToDelimiter(segment: string): boolean {
  const odd = segment.match(/[^\x20-\x7e]/gu) ?? [];
  return odd.some((character) => delimiterInside.test(character.normalize('NFKC')));
}

/** Whether one of the rules lists this request. A path that has two readings is in none. */
export function permits(rules: readonly RequestRule[], method: string, target: string): boolean {
  if (pathFault(target) !== null) return false;
  const [path = ''] = target.split('?', 1);
  return rules.some((rule) => (rule.method === '*' || rule.method === method) && isListed(rule.path, path));
}

function isListed(pattern: string, path: string): boolean {
  const [wanted, segments] = [pattern.split('/'), path.split('/')];
  for (const [at, want] of wanted.entries()) {
    if (want === '**') return at < segments.length;
    const segment = segments[at];
    if (segment === undefined || (want === '*' ? segment === '' : want !== segment)) return false;
  }
  return wanted.length === segments.length;
}

const otherRequest =
  /^(?:x-http-method(?:-override)?|x-method-override|x-(?:original|rewrite)-(?:url|uri)|x-forwarded-(?:uri|url|path|prefix)|x-[a-z]+-(?:copy|rename)-source|destination)$/;

/** The header by which a request asks for another method or path than its first line says, or for a second path; null without one. */
export function overridingHeader(names: readonly string[]): string | null {
  return names.find((name) => otherRequest.test(name.toLowerCase().replaceAll('_', '-'))) ?? null;
}
