/** A variable that no attempt is granted. */
export const ungrantedVariable = 'SVC_ATTEMPTS_SECRET';
