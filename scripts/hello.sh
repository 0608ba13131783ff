#!/bin/sh
# Runs examples/hello, shows its work and its answer, and names what to do next. From the root of the checkout, after a build.
set -e
manifest=examples/hello/svc.yaml
if command -v svc >/dev/null; then on_path=yes; else on_path=no; fi
svc() { node "$(dirname "$0")/../bin/svc.cjs" "$@"; }

# A build may have made bundled artifacts anew since the last time.
svc install --manifest "$manifest" >/dev/null
svc run --manifest "$manifest"
# A terminal has shown the work as it happened.
[ -t 2 ] || svc trace show --manifest "$manifest"
echo
echo "Next:"
if [ "$on_path" = yes ]; then
  echo "  svc view --manifest $manifest   look at it in the browser"
  echo '  svc "what does this folder do?"               needs ANTHROPIC_API_KEY, OPENAI_API_KEY or Ollama'
else
  echo "  node bin/svc.cjs view --manifest $manifest   look at it in the browser"
  echo "  npm link                                                   put svc on the PATH, for folders of your own:"
  echo '  svc "what does this folder do?"                            needs ANTHROPIC_API_KEY, OPENAI_API_KEY or Ollama'
fi
