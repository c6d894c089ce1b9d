"""The command line: ``python -m eks_training VERB``.

The second composition root.  Exit codes: 0 no errors, 1 at least one error in the configuration, 2 wrong usage or a
file that cannot be opened, 3 a fault of ours.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

# The validation library looks for plug-ins of other packages at import; there are none, and looking costs 40 ms.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from eks_training import pipeline, report

OWN_FAULT = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code and lets no exception out."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        verb: Callable[[argparse.Namespace], int] = asked.verb
        code = verb(asked)
        sys.stdout.flush()
        return code
    except pipeline.Refused as refused:
        print(refused.report, file=sys.stderr, end="")
        return refused.exit_code
    except BrokenPipeError:
        # The interpreter flushes standard output at exit, and the reader is gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"{error.filename or 'output'}: cannot be written: {error.strerror or error}", file=sys.stderr)
        return pipeline.UNREADABLE
    except Exception:
        import traceback

        print("this is a fault of eks-training, not of your file; please report it with these lines:", file=sys.stderr)
        traceback.print_exc()
        return OWN_FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m eks_training", description="One cluster.yaml in, a deployable EKS training cluster out."
    )
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")

    validate = verbs.add_parser("validate", help="check a file: every finding with file, line and column")
    _file(validate)
    _format(validate)
    validate.add_argument("--strict", action="store_true", help="count warnings as errors")
    validate.set_defaults(verb=_validate)

    plan = verbs.add_parser("plan", help="print what would be made, decided but not written")
    _file(plan)
    _format(plan)
    plan.set_defaults(verb=_plan)

    render = verbs.add_parser("render", help="write the Kubernetes objects as YAML, filled in from a deployment")
    _file(render)
    render.add_argument("--outputs", metavar="FILE", required=True, help="what `cdk deploy --outputs-file FILE` wrote")
    render.add_argument("-o", "--output", default="dist", metavar="FOLDER", help="default: %(default)s")
    render.set_defaults(verb=_render)

    explain = verbs.add_parser("explain", help="what a rule wants and why, with a bad and a good example")
    explain.add_argument("rule", metavar="RULE", help="a rule id such as EFA001")
    _format(explain)
    explain.set_defaults(verb=_explain)

    rules = verbs.add_parser("rules", help="list every rule")
    _format(rules)
    rules.set_defaults(verb=_rules)

    schema = verbs.add_parser("schema", help="print the JSON Schema of cluster.yaml, for editors")
    schema.set_defaults(verb=_schema)

    init = verbs.add_parser("init", help="write a commented starter")
    init.add_argument("shape", nargs="?", default="training", help="shape of the cluster; --list shows them")
    init.add_argument("--list", action="store_true", help="list the shapes")
    init.add_argument(
        "-o", "--output", default="cluster.yaml", metavar="FILE", help="where to write (default: %(default)s)"
    )
    init.add_argument("--force", action="store_true", help="overwrite a file that is there")
    init.set_defaults(verb=_init)
    return parser


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", default="cluster.yaml", help="default: %(default)s")


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")


def _style(stream: TextIO) -> report.Style:
    return report.COLOUR if stream.isatty() and not os.environ.get("NO_COLOR") else report.PLAIN


def _validate(asked: argparse.Namespace) -> int:
    result = pipeline.checked(asked.file)
    print(result.json() if asked.format == "json" else result.text(_style(sys.stdout)), end="")
    return pipeline.FINDINGS if result.failed(strict=asked.strict) else 0


def _plan(asked: argparse.Namespace) -> int:
    from eks_training.summary import summary

    result = pipeline.checked(asked.file)
    if result.findings:
        print(result.text(_style(sys.stderr)), file=sys.stderr, end="")
    if result.failed():
        return pipeline.FINDINGS
    plan = result.plan()
    print(pipeline.plan_json(plan) if asked.format == "json" else summary(plan), end="")
    return 0


def _render(asked: argparse.Namespace) -> int:
    planned = pipeline.planned(asked.file)
    print(planned.report, file=sys.stderr, end="")

    from eks_training.toolchain import use_bundled_node

    use_bundled_node()
    from k8s.render import render
    from k8s.rendering import InvalidOutputs, MissingOutputs, OutputsFile

    try:
        outputs = OutputsFile.read(Path(asked.outputs))
    except OSError as error:
        raise _unreadable(asked.outputs, error) from error
    except InvalidOutputs as error:
        raise pipeline.Refused(f"{error}\n", pipeline.UNREADABLE) from error
    try:
        written = render(planned.plan, outputs.stacks, Path(asked.output))
    except MissingOutputs as error:
        raise pipeline.Refused(f"{asked.outputs}: {error}\n", pipeline.UNREADABLE) from error
    for path in written:
        print(f"wrote {path}")
    return 0


def _unreadable(file: str, error: OSError) -> pipeline.Refused:
    return pipeline.Refused(f"{file}: cannot be opened: {error.strerror or error}\n", pipeline.UNREADABLE)


def _explain(asked: argparse.Namespace) -> int:
    from eks_training import explanation

    text = explanation.explain(asked.rule.upper(), as_json=asked.format == "json")
    print(text, end="")
    return 0


def _rules(asked: argparse.Namespace) -> int:
    from eks_training import explanation

    print(explanation.listing(as_json=asked.format == "json"), end="")
    return 0


def _schema(_asked: argparse.Namespace) -> int:
    from eks_training.schema import json_schema

    print(json_schema(), end="")
    return 0


def _init(asked: argparse.Namespace) -> int:
    from eks_training import starter
    from eks_training.files import write_whole

    if asked.list:
        print(starter.listing(), end="")
        return 0
    text = starter.text(asked.shape)
    target = Path(asked.output)
    if target.exists() and not asked.force:
        raise pipeline.Refused(f"{target}: is there already; choose another with -o, or --force\n", pipeline.UNREADABLE)
    if not target.parent.is_dir():
        raise pipeline.Refused(f"{target.parent}: no such folder\n", pipeline.UNREADABLE)
    write_whole(target, text)
    print(
        f"wrote {target}; now change account, zones and administrators, then: python -m eks_training validate {target}"
    )
    return 0
