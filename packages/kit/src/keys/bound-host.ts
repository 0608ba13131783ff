/** Says what is held of requests to a host that is granted with rules or a credential, and of its answers. */

/** How a request has the key: after the word `Bearer`, as the password of `Basic`, alone, in a signature of AWS that is made with it, or as an access token that it is renewed by. */
export const credentialSchemes = ['bearer', 'basic', 'raw', 'sigv4', 'oauth2'] as const;
export type CredentialScheme = (typeof credentialSchemes)[number];

export type HeaderLine = readonly [name: string, value: string];

/** A request as it was asked for. Values have one byte a character. */
export interface AskedRequest {
  readonly method: string;
  /** A path with its query. */
  readonly target: string;
  readonly headers: readonly HeaderLine[];
}

export type BoundDecision =
  | {
      readonly kind: 'permitted';
      /** With the key of the host where that is put in. */
      readonly headers: readonly HeaderLine[];
      /** The same before the key is put in, and without the placeholder that stood for it. */
      readonly unkeyed: readonly HeaderLine[];
      readonly keyed: boolean;
      /** Where the key itself is not put in: what is made of it is added to the request as it goes out. */
      readonly signer: RequestSigner | null;
      /** The rule of `approvals` by which a person has to allow it first; null where nobody is asked. */
      readonly asks: string | null;
    }
  | {
      readonly kind: 'refused';
      /** The manifest key that refuses it. */
      readonly rule: string;
      /** A sentence for a person, without any value of the request. */
      readonly reason: string;
    };

/** What the rules of `approvals` say of a request that the grants of its host let through, and which of them. */
export interface RequestRuling {
  readonly verdict: 'ask' | 'deny';
  readonly rule: string;
}

/** Rules of `approvals` on requests to one host. Returns null for a request that may be made. */
export type RequestRulings = (asked: Pick<AskedRequest, 'method' | 'target'>) => RequestRuling | null;

/** A request whose body is there and that waits for a person. */
export interface HeldRequest {
  /** `https://api.github.com`, as a URL has it. */
  readonly origin: string;
  readonly method: string;
  /** A path with its query. */
  readonly target: string;
  /** `content-type: text/plain`, with one byte a character; without keys, and without headers that say nothing of what is asked. */
  readonly headers: readonly string[];
  /** The hash of the keys that were left out, in hexadecimal: nobody is shown it. Absent without one. */
  readonly keys?: string;
  readonly body: {
    readonly bytes: number;
    /** In hexadecimal. */
    readonly sha256: string;
    /** Is null for one that is not text, or too long to be shown. */
    readonly text: string | null;
  };
}

/** `reason` is a clause about the request. */
export type RequestVerdict = { readonly kind: 'proceed' } | { readonly kind: 'refused'; readonly reason: string };

/** Has a person judge the requests that one call of a session makes. */
export interface RequestJudge {
  /** Whether this call has to ask, by a rule of `approvals`. */
  asks(rule: string): boolean;
  /** `held` is aborted once nobody waits any more; the request is refused then, and the question goes on. Never rejects. */
  judge(request: HeldRequest, held: AbortSignal): Promise<RequestVerdict>;
}

/** Makes the credential of a request in the form in which it goes out. */
export interface RequestSigner {
  /** Whether the whole body is signed: then it is held until it is there. */
  readonly needsBody: boolean;
  /** The lines to add to a request that goes out with this method, target and headers. `body` counts where it is needed. */
  sign(sent: AskedRequest, body: Uint8Array): Promise<SignedLines>;
}

/** What is added to a request; a fault, as a clause about the request, where it may not go out. */
export type SignedLines = { readonly lines: readonly HeaderLine[] } | { readonly fault: string };

/** An access token, or as a clause about the request why it has to do without one. */
export type AccessToken = { readonly token: string } | { readonly fault: string };

/** Gives the access tokens that a key of `oauth2` is good for. */
export interface AccessTokens {
  /** The one that holds now. */
  current(): Promise<AccessToken>;
  /** What answers are searched for, beside the key; each has at least eight characters. */
  secrets(): readonly string[];
}

/** One origin as one asker meets it. */
export interface BoundHost {
  /** `https://api.github.com`, as a URL has it. */
  readonly origin: string;
  /** Whether answers are looked through, which then have to come without a compression. */
  readonly isGuarded: boolean;
  decide(asked: AskedRequest): BoundDecision;
  /** Returns null if the host has no credential. */
  openGuard(): AnswerGuard | null;
}

/** The host of an origin; null for one that is granted by its name alone. */
export type BoundHosts = (origin: string) => BoundHost | null;

/** Looks for the key in one answer. Once something returned null or threw, nothing more of the answer may be given out. */
export interface AnswerGuard {
  /** The manifest key of the credential. */
  readonly rule: string;
  /** A clause for the component or program that asked: why the answer was cut. */
  readonly cutWords: string;
  /** The same where the search failed. */
  readonly unsearchedWords: string;
  /** The headers, or trailers, that may be given out: cookies, which are keys too, may not. */
  headers(lines: readonly (readonly [name: string, value: Buffer])[]): readonly (readonly [string, Buffer])[] | null;
  /** The bytes of the body that may be given out now. */
  next(piece: Uint8Array): Buffer | null;
  /** What was kept, when the body has ended whole. */
  rest(): Buffer | null;
}
