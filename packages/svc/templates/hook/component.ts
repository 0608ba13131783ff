// A hook that refuses calls of tools in which the word "password" stands.
import { observer, type Lifecycle } from '@svc/guest/hook';

/** `svc:hook/lifecycle`: a function for each event; `observer` has those that change nothing. */
export const lifecycle: Lifecycle = {
  ...observer,
  onToolCall: ({ arguments: text }) =>
    text.includes('password') ? { tag: 'deny', val: 'No passwords in calls, please.' } : { tag: 'proceed' },
};
