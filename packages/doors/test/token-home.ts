import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { TokenCallers } from '../src/callers/callers.ts';
import type { Scope } from '../src/callers/scopes.ts';
import { addToken, removeToken } from '../src/callers/change-tokens.ts';
import { hashOfToken, mintToken } from '../src/callers/door-token.ts';
import { type TokenPlace, tokenPlace } from '../src/callers/token-place.ts';

interface Given {
  readonly scopes?: readonly Scope[];
  readonly capsule?: string | null;
  readonly forMs?: number;
}

/** A home folder of its own with door tokens, and who they let in. */
export class TokenHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-tokens-'));
  readonly place: TokenPlace = tokenPlace(this.folder, process.getuid?.());
  readonly problems: Diagnostic[] = [];
  readonly shown: string[] = [];
  now = 1_800_000_000_000;
  /** How long it may take until a token that has ended is noticed. */
  maxWaitMs = 0;

  constructor() {
    mkdirSync(join(this.folder, '.svc'), { mode: 0o700 });
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  async add(name: string, { scopes = ['read', 'send'], capsule = null, forMs = 60_000 }: Given = {}): Promise<string> {
    const token = mintToken(systemClock);
    const times = { created_at_ms: this.now, expires_at_ms: this.now + forMs };
    await addToken(this.place, { name, sha256: hashOfToken(token), scopes, capsule, ...times });
    return token;
  }

  async remove(name: string): Promise<void> {
    await removeToken(this.place, name);
  }

  write(text: string, mode = 0o600): void {
    rmSync(this.place.path, { force: true });
    writeFileSync(this.place.path, text, { mode });
  }

  /** `listenerToken` null is a listener without one; its time is that of `now`. */
  callers({
    listenerToken = 'operator-token',
    isGuarded = false,
    personKey = null,
  }: { listenerToken?: string | null; isGuarded?: boolean; personKey?: string | null } = {}): TokenCallers {
    return new TokenCallers({
      personKey: personKey === null ? null : new Secret(personKey),
      listenerToken: listenerToken === null ? null : new Secret(listenerToken),
      isGuarded,
      capsule: 'demo',
      place: this.place,
      clock: {
        now: () => this.now,
        monotonicMs: () => systemClock.monotonicMs(),
        after: (ms, then) => {
          this.maxWaitMs = Math.max(this.maxWaitMs, ms);
          return systemClock.after(ms, then);
        },
      },
      onToken: (token) => this.shown.push(token.reveal()),
      onProblem: (problem) => this.problems.push(problem),
    });
  }
}
