/** What became of an attempt. */
export interface Seen {
  /** `unclear`: neither an effect nor a refusal was seen, so that nothing is shown. */
  readonly kind: 'allowed' | 'absent' | 'refused' | 'killed' | 'unclear';
  /** The name of an error or signal, or a word of who refused; empty where there is nothing to add. */
  readonly detail: string;
}

export const allowed: Seen = { kind: 'allowed', detail: '' };

/** `refused EACCES`. */
export function formatSeen({ kind, detail }: Seen): string {
  return detail === '' ? kind : `${kind} ${detail}`;
}

/** What `svc-attempts` printed; null when it is none of its lines. `tried` leaves the answer to who sees the effect. */
export function parseAnswer(line: string): Seen | 'tried' | null {
  if (line === 'tried\n') return 'tried';
  if (line === 'allowed\n') return allowed;
  if (line === 'absent\n') return { kind: 'absent', detail: '' };
  const [, kind, detail = ''] = /^(refused|killed) (\S+)\n$/.exec(line) ?? [];
  return kind === 'refused' || kind === 'killed' ? { kind, detail } : null;
}
