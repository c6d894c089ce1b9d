"""The script that applies a rendered folder, wave by wave."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

TIMEOUT = "10m"
"""How long Helm waits for what a chart renders to become ready."""

_HEAD = """\
#!/usr/bin/env bash
# Applies this folder, in order.  With --dry-run it only asks the cluster whether it would accept the objects, which it
# can tell only where their definitions are installed already.  Needs helm, kubectl and access to the cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
helm_flags=(--wait --timeout TIMEOUT)
kubectl_flags=()
case "${1:-}" in
  "") ;;
  --dry-run) helm_flags=(--dry-run=server) kubectl_flags=(--dry-run=server) ;;
  *) echo "usage: $0 [--dry-run]" >&2; exit 2 ;;
esac
""".replace("TIMEOUT", TIMEOUT)


def apply_script(index: Mapping[str, Any]) -> str:
    """A shell script for the releases and manifests of an index.

    Objects are applied on the server's side, so that large definitions pass, and nothing is pruned.
    """
    steps = [*index["releases"], *index["manifests"]]
    lines: list[str] = []
    for wave in sorted({step["wave"] for step in steps}):
        lines += ["", f"echo 'wave {wave}'"]
        lines += [line for step in steps if step["wave"] == wave for line in _step(step)]
    return _HEAD + "\n".join(lines) + "\n"


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    if "file" in step:
        yield f'kubectl apply --server-side "${{kubectl_flags[@]}}" -f {shlex.quote(step["file"])}'
        return
    oci = step["repository"].startswith("oci://")
    source = [step["repository"]] if oci else [step["chart"], "--repo", step["repository"]]
    words = [step["name"], *source, "--version", step["version"], "--namespace", step["namespace"]]
    words += ["--values", step["valuesFile"]]
    yield f'helm upgrade --install {shlex.join(words)} "${{helm_flags[@]}}"'
