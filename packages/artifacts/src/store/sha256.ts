/** A SHA-256 as every file and message of `svc` spells it. */
export const sha256Shape = /^[0-9a-f]{64}$/;
