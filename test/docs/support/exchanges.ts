type Fields = Readonly<Record<string, string>>;

export interface ShownRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Fields;
  readonly body: string;
}

export interface ShownResponse {
  readonly status: number;
  readonly headers: Fields;
  readonly body: string;
}

/** A request of a page, what it shows of the answer, or what it shows of how the open event stream goes on. */
export type Shown =
  | ({ readonly kind: 'request' } & ShownRequest)
  | ({ readonly kind: 'response' } & ShownResponse)
  | { readonly kind: 'rest'; readonly body: string };

/** The `http` and `sse` listings of a page, in its order. Throws for an `http` listing that is neither a request nor a response. */
export function exchangesOf(markdown: string): readonly Shown[] {
  return [...markdown.matchAll(/^```(http|sse)\n([^]*?)^```$/gm)].map(([, language, text = '']) =>
    language === 'sse' ? { kind: 'rest', body: text } : httpListing(text),
  );
}

function httpListing(text: string): Shown {
  const [head = '', ...paragraphs] = text.split('\n\n');
  const [first = '', ...lines] = head.trimEnd().split('\n');
  const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0], line.replace(/^.+?: /, '')] as const));
  const body = paragraphs.join('\n\n');
  const [, method, path] = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(first) ?? [];
  if (method !== undefined && path !== undefined) return { kind: 'request', method, path, headers, body };
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(first) ?? [];
  if (status !== undefined) return { kind: 'response', status: Number(status), headers, body };
  throw new Error(`neither a request nor a response:\n${text}`);
}

/** The source of an expression for what a page shows, an ellipsis for anything within one string and one line. */
export function patternOf(shown: string): string {
  const parts = shown.trim().split('…');
  return parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^"\\n]*?');
}

/** JSON without white space between its parts; it may hold ellipses where a page leaves a value out. */
export function compactJson(text: string): string {
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}
