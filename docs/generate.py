"""Makes the pages of docs/ that are made from the code: cluster.md, rules.md and proof.md.

``python docs/generate.py`` rewrites them; a test fails while they are stale.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eks_training.configuration_rules import BUILT_IN  # noqa: E402
from eks_training.files import write_whole  # noqa: E402
from eks_training.rulebook import Rule, all_rules  # noqa: E402
from eks_training.schema import json_schema  # noqa: E402

MARKERS = {
    "schema": "data has the stated form",
    "arithmetic": "numbers and names agree with each other and with the facts",
    "template": "what is synthesised",
    "real_component": "a third-party program was run",
    "control_plane": "a real control plane accepted it",
}

UNPROVED = """\
## What stays unproved without an AWS account

- That CloudFormation creates the resources: quotas, offerings, service-linked roles, names that are taken.
- That reservations, Capacity Blocks, placement groups, file systems and buckets named in a file exist and fit.
- That nodes join, that EFA devices are advertised, that collectives use them instead of TCP.
- That an export to S3 has arrived, that a backup restores, that a job trains or recovers.
"""


def rules_page() -> str:
    """Every rule with its reason, source and examples."""
    lines = [
        "# Rules",
        "",
        "Made from the code by `make docs`. `python -m eks_training explain ID` prints the same.",
        "",
        "## Reading the file",
        "",
        *(f"- **{id}** {title}. {why}" for id, (title, why) in BUILT_IN.items()),
        "",
    ]
    area = ""
    for rule in all_rules():
        if rule.check.__module__ != area:
            area = rule.check.__module__
            doc = (sys.modules[area].__doc__ or "").strip().split("\n")[0]
            lines += [f"## {area.rsplit('.', 1)[-1]}", "", doc, ""]
        lines += _rule(rule)
    return "\n".join(lines)


def _rule(rule: Rule) -> Iterator[str]:
    kept = "cannot be suppressed" if rule.fixed else "can be suppressed with a reason"
    yield from (
        f"### {rule.id} ({rule.severity.value}): {rule.title}",
        "",
        rule.why,
        "",
        f"Source: {rule.source}. Proves: {rule.proves}. It {kept}.",
        "",
        "```yaml",
        "# wrong",
        rule.bad.strip("\n"),
        "---",
        "# right",
        rule.good.strip("\n"),
        "```",
        "",
    )


def fields_page() -> str:
    """Every key of cluster.yaml with what it takes."""
    schema = json.loads(json_schema())
    lines = [
        "# cluster.yaml",
        "",
        "Made from the code by `make docs`. Keys marked * must be there. `python -m eks_training schema` prints the",
        "same for editors; [rules.md](rules.md) has what the keys demand of each other.",
        "",
    ]
    sections = {"cluster.yaml": schema, **schema["$defs"]}
    for name, section in sections.items():
        if "properties" not in section:
            continue
        lines += [f"## {name}", "", section.get("description", ""), "", "| key | takes | meaning |", "|---|---|---|"]
        needed = set(section.get("required", ()))
        for key, field in section["properties"].items():
            mark = "*" if key in needed else ""
            lines.append(f"| `{key}`{mark} | {_takes(field)} | {field.get('description', '')} |")
        lines.append("")
    return "\n".join(lines)


def _takes(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    for union in ("anyOf", "oneOf"):
        if union in field:
            return " or ".join(_takes(item) for item in field[union] if item.get("type") != "null")
    if field.get("type") == "array":
        return f"list of {_takes(field.get('items', {}))}"
    if field.get("type") == "object":
        patterns = list(field.get("patternProperties", {}).values())
        inner = patterns[0] if patterns else field.get("additionalProperties")
        return f"names to {_takes(inner)}" if isinstance(inner, dict) else "a section"
    words = {"string": "text", "integer": "number", "boolean": "true or false", "number": "number"}
    text = words.get(str(field.get("type")), "anything")
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f"{text} from {low} to {high}"
    return f"{text} from {low}" if low is not None else text


@dataclass(frozen=True)
class TestModule:
    """One test file: its first line and its tests by marker."""

    path: str
    about: str
    tests: Counter[str]


def test_modules() -> Iterator[TestModule]:
    """Every test file, read and not run."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        common = [mark for node in tree.body if isinstance(node, ast.Assign) for mark in _module_marks(node)]
        counted: Counter[str] = Counter()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                own = [mark for decorator in node.decorator_list for mark in _marks(decorator)]
                counted.update(own or common)
        about = (ast.get_docstring(tree) or "").split("\n")[0]
        yield TestModule(path.relative_to(ROOT / "tests").as_posix(), about, counted)


def _module_marks(node: ast.Assign) -> Iterator[str]:
    if any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets):
        yield from _marks(node.value)


def _marks(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in MARKERS:
            yield part.attr


def proof_page() -> str:
    """What the tests prove, by test file and by example."""
    modules = list(test_modules())
    head = "| tests of | what they say | " + " | ".join(MARKERS) + " |"
    rows = [
        f"| `{module.path}` | {module.about} | "
        + " | ".join(str(module.tests[marker] or "") for marker in MARKERS)
        + " |"
        for module in modules
    ]
    total = Counter[str]()
    for module in modules:
        total.update(module.tests)
    return "\n".join(
        [
            "# What is proved",
            "",
            "Made from the tests' markers by `make docs`. A number counts test functions; many of them run over tables",
            "or generated inputs. A marker says what passing shows, and no more:",
            "",
            *(f"- `{marker}`: {meaning}" for marker, meaning in MARKERS.items()),
            "",
            head,
            "|---|---|" + "---|" * len(MARKERS),
            *rows,
            "| **all** | | " + " | ".join(str(total[marker] or "") for marker in MARKERS) + " |",
            "",
            "## Examples",
            "",
            "Each of these is validated, planned, synthesised, compared with its golden assembly, and checked by",
            "cfn-lint and cdk-nag:",
            "",
            *(f"- `{path.relative_to(ROOT).as_posix()}`: {_first_line(path)}" for path in _examples()),
            "",
            UNPROVED,
        ]
    )


def _examples() -> list[Path]:
    return [ROOT / "cluster.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]


def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


PAGES = {"cluster.md": fields_page, "rules.md": rules_page, "proof.md": proof_page}


def main() -> None:
    """Rewrite the pages."""
    for name, page in PAGES.items():
        write_whole(ROOT / "docs" / name, page())


if __name__ == "__main__":
    main()
