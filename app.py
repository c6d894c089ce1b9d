"""Composition root of ``cdk synth``, ``cdk diff`` and ``cdk deploy``: load, check, plan, assemble.  No decisions.

The CDK CLI starts it, and so does plain ``python3 app.py``; both write the same files to ``cdk.out/``.  The file to
read is ``cluster.yaml`` unless the context says otherwise (``-c config=FILE``).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from eks_training.pipeline import UNREADABLE, Refused, planned
from eks_training.toolchain import use_bundled_node

DEFAULT_CONFIG = "cluster.yaml"
CLI_CONTEXT = {"aws:cdk:enable-path-metadata": True, "aws:cdk:enable-asset-metadata": True}
"""What the CLI adds by itself; without it a plain run would write templates that differ from ``cdk synth``."""


def main() -> int:
    """Write the cloud assembly, plan.json and summary.txt.

    Returns the exit code: 0 done, 1 the configuration has errors, 2 it cannot be read.
    """
    try:
        context = _context()
    except ValueError as error:
        print(f"the context of the CDK is not readable: {error}", file=sys.stderr)
        return UNREADABLE
    outdir = Path(os.environ.get("CDK_OUTDIR", "cdk.out"))
    try:
        result = planned(str(context.get("config") or DEFAULT_CONFIG))
    except Refused as refused:
        print(refused.report, file=sys.stderr, end="")
        return refused.exit_code
    print(result.report, file=sys.stderr, end="")

    use_bundled_node()
    from aws_cdk import App

    from stacks.assembly import add_stacks

    app = App(outdir=str(outdir), context=context)
    add_stacks(app, result.plan)
    app.synth()
    result.write(outdir)
    return 0


def _context() -> dict[str, Any]:
    """The context that the CLI hands over; what stands in cdk.json when nobody does."""
    if "CDK_CONTEXT_JSON" in os.environ:
        context = json.loads(os.environ["CDK_CONTEXT_JSON"])
        if not isinstance(context, dict):
            raise ValueError("CDK_CONTEXT_JSON must be a JSON object")
        overflow = os.environ.get("CONTEXT_OVERFLOW_LOCATION_ENV")
        return {**context, **json.loads(Path(overflow).read_text())} if overflow else context
    settings: dict[str, Any] = json.loads((Path(__file__).parent / "cdk.json").read_text())
    return {**CLI_CONTEXT, **settings["context"]}


if __name__ == "__main__":
    sys.exit(main())
