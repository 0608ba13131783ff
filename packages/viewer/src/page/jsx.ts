/** What the build makes of an element in JSX: a call with its children as arguments, which is shorter than what compilers write by themselves. */

export { Fragment, h } from 'preact';
