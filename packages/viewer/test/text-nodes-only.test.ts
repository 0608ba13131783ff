import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

/** Ways by which a text could become elements, an address or a program. */
const ways =
  /\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|setHTML\w*|srcdoc|createContextualFragment|DOMParser|XSLTProcessor|document\.write\w*|eval|importScripts|cssText|setAttribute\w*|createElementNS|cloneElement|createPortal|hydrate|jsxTemplate)\b|\bcreateElement\b(?!\('(?:a|canvas|i)'\))|\bnew Function\b|javascript:|\b(?:href|src(?!=\{`data:\$\{kind\};base64,)|srcset|action|formAction|poster|xlinkHref|style)=(?!\{\{)|\.(?:href|src|action)\s*=(?!=)|<(?:a|iframe|object|embed|svg|script|link|form|base|meta|style)[\s>]|\{\.\.\.(?!attributes\}|props\})/;

/** Where one of them is needed, and for what alone. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // An address that the page has made itself.
  'page/save-file.ts': ['.href ='],
};

/** All that may be taken from the libraries that draw: with `h` itself, or a copy of an element, properties could come from anywhere. */
const drawing: Readonly<Record<string, ReadonlySet<string>>> = {
  preact: new Set(['JSX', 'ComponentChildren', 'TargetedKeyboardEvent', 'TargetedPointerEvent', 'render']),
  'preact/hooks': new Set(['useEffect', 'useLayoutEffect', 'useMemo', 'useRef', 'useState']),
};
/** What the build calls for an element in JSX, and what sees each element as it is made: nobody else. */
const closest: ReadonlySet<string> = new Set(['page/jsx.ts', 'page/follow-cells.ts']);

const source = new URL('../src/', import.meta.url);

function found(code: string): readonly string[] {
  const bare = code.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '');
  return [...bare.matchAll(new RegExp(ways, 'g'))].map(([way]) => way);
}

/** What a file takes of the libraries that draw, and may not: a name, or a library in another form than a list of names. */
function forbidden(code: string): readonly string[] {
  const rest = code.replaceAll(
    /^import (?:type )?\{([^}]*)\} from '(@?preact[^']*)';$/gm,
    (_whole, names: string, from) =>
      names
        .split(',')
        .map((name) => name.replace(/^\s*type\s/, '').trim())
        .filter((name) => name !== '' && drawing[from as string]?.has(name) !== true)
        .map((name) => `preact ${name}`)
        .join('\n'),
  );
  return rest.match(/preact.*/g) ?? [];
}

describe('a foreign text', () => {
  it('becomes text nodes and nothing else, in every file of the page', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /(?<!\.test)\.tsx?$/.test(file),
    );
    const ways = files.flatMap((file) => {
      const known = new Set(allowed[file] ?? []);
      const code = readFileSync(new URL(file, source), 'utf8');
      const all = [...found(code).filter((way) => !known.has(way)), ...(closest.has(file) ? [] : forbidden(code))];
      return all.map((way) => `${file}: ${way}`);
    });
    expect(files.length).toBeGreaterThan(40);
    expect(ways).toEqual([]);
  });

  it.each([
    'box.innerHTML = text;',
    '<p dangerouslySetInnerHTML={{ __html: text }} />',
    '<a href={text}>x</a>',
    '<img src={text} />',
    '<i style={text} />',
    '<i {...values} />',
    'anchor.href = text;',
    'new Function(text)',
    "document.createElement('iframe')",
    'document.createElement(name)',
    'cloneElement(<p />, values)',
  ])('would be noticed in %s', (code) => {
    expect(found(code)).not.toEqual([]);
  });

  it.each([
    '<i style={{ top: `${top}px` }} />',
    '<img src={`data:${kind};base64,${letters}`} />',
    "document.createElement('canvas')",
    '<View {...props} depth={0} />',
    '// innerHTML is not used',
    'const source = 1;',
  ])('never appears in %s', (code) => {
    expect(found(code)).toEqual([]);
  });

  it.each([
    "import { h } from 'preact';",
    "import { createElement, type JSX } from 'preact';",
    "import * as preact from 'preact';",
    "import { render as draw } from 'preact';",
    "import { Fragment } from 'preact/jsx-runtime';",
    "const { h } = await import('preact');",
    "import {\n  render,\n  cloneElement,\n} from 'preact';",
    "import { options } from 'preact';",
    "import { signal } from '@preact/signals';",
  ])('cannot get there by %s', (code) => {
    expect(forbidden(code)).not.toEqual([]);
  });

  it('may be drawn with what components need', () => {
    expect(forbidden("import { type JSX, render } from 'preact';\nimport { useState } from 'preact/hooks';")).toEqual(
      [],
    );
  });
});
