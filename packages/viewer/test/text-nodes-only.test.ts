import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

/** Ways by which a text could become elements, an address or a program. */
const ways =
  /\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|setHTML\w*|srcdoc|createContextualFragment|DOMParser|XSLTProcessor|document\.write\w*|eval|importScripts|cssText|setAttribute\w*|createElementNS)\b|\bnew Function\b|javascript:|\b(?:href|src|srcset|action|formAction|poster|xlinkHref|style)=(?!\{\{)|\.(?:href|src|action)\s*=(?!=)|<(?:a|iframe|object|embed|svg|script|link|form|base|meta|style)[\s>]|\{\.\.\.(?!attributes\}|props\})/;

/** Where one of them is needed, and for what alone. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // An address that the page has made itself.
  'page/save-file.ts': ['.href ='],
  // A picture of the page's own data.
  'page/picture.tsx': ['src='],
};

const source = new URL('../src/', import.meta.url);

function found(code: string): readonly string[] {
  const bare = code.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '');
  return [...bare.matchAll(new RegExp(ways, 'g'))].map(([way]) => way);
}

describe('a text that somebody else wrote', () => {
  it('becomes text nodes and nothing else, in every file of the page', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /(?<!\.test)\.tsx?$/.test(file),
    );
    const ways = files.flatMap((file) => {
      const known = new Set(allowed[file] ?? []);
      return found(readFileSync(new URL(file, source), 'utf8'))
        .filter((way) => !known.has(way))
        .map((way) => `${file}: ${way}`);
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
  ])('would be noticed in %s', (code) => {
    expect(found(code)).not.toEqual([]);
  });

  it.each([
    '<i style={{ top: `${top}px` }} />',
    '<View {...props} depth={0} />',
    '// innerHTML is not used',
    'const source = 1;',
  ])('is not seen in %s', (code) => {
    expect(found(code)).toEqual([]);
  });
});
