"""Making contracts: from a chart archive, from bad input, and by the command."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_training.contracts.build import build_all, build_archive, main, template_paths
from eks_training.contracts.chart import UNREVIEWED, OpenTable
from eks_training.contracts.crd import FREE, crd_contracts
from eks_training.contracts.model import Contract, ContractError, check, from_json

pytestmark = pytest.mark.schema

CHART = {
    "Chart.yaml": """
        name: demo
        version: v1.2.3
        dependencies: [{name: inner, alias: kernel, version: 1.0.0}, {name: absent, version: 1.0.0}]
    """,
    "values.yaml": "{replicas: 1, image: {tag: a}, extra: {}, mixed: [1, b], kernel: {depth: 3}}",
    "templates/x.yaml": '{{ .Values.image.digest }} {{ index .Values "odd" "name" }} {{ $.Values.hidden }}',
    "charts/inner/Chart.yaml": "{name: inner, version: 1.0.0}",
    "charts/inner/values.yaml": "{depth: 1, nodeSelector: {}}",
    "README.md": "not read",
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["replicas", "token"],
    "properties": {
        "replicas": {"type": ["integer", "null"], "minimum": 1},
        "token": {"$ref": "#/$defs/token"},
        "mode": {"enum": ["a", "b"]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "classes": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^[A-Z]": {"type": "object"}},
        },
        "free": {"type": "object"},
    },
    "$defs": {"token": {"type": "string", "pattern": "^[a-z]+$"}},
}


def archive(folder: Path, files: Mapping[str, str]) -> Path:
    target = folder / "demo-1.2.3.tgz"
    with tarfile.open(target, "w:gz") as tar:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"demo/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return target


def contract(folder: Path, files: Mapping[str, str]) -> Contract:
    return from_json(json.loads(build_archive(archive(folder, files))["demo.json"]))


def unknown(made: Contract, values: Any) -> list[tuple[Any, ...]]:
    return [one.path for one in check(made, values) if one.problem == "unknown key"]


def test_an_archive_gives_values_templates_and_subcharts(tmp_path: Path) -> None:
    made = contract(tmp_path, CHART)
    assert (made.name, made.version, made.kind, made.completeness) == ("demo", "1.2.3", "chart", "complete")
    assert made.source.startswith("sha256:")
    good = {"image": {"digest": "x"}, "odd": {"name": "y"}, "hidden": 1, "mixed": ["c", 2], "kernel": {"depth": 2}}
    assert check(made, good) == []
    assert unknown(made, {"image": {"sha": ""}}) == [("image", "sha")]
    assert unknown(made, {"kernel": {"width": 1}, "absent": {"any": 1}, "inner": {}}) == [
        ("kernel", "width"),
        ("inner",),
    ]


def test_what_is_said_of_old_copies_does_not_hold_for_an_archive(tmp_path: Path) -> None:
    files = CHART | {"Chart.yaml": "{name: neuron-helm-chart, version: 2.0.0}"}
    made = from_json(json.loads(build_archive(archive(tmp_path, files))["neuron-helm-chart.json"]))
    assert (made.completeness, made.note) == ("complete", "")


def test_what_nobody_decided_is_let_through_and_says_so(tmp_path: Path) -> None:
    made = contract(tmp_path, CHART)
    assert {path: key.open for path, key in made.places if key.open == UNREVIEWED} == {("extra",): UNREVIEWED}


def test_the_schema_of_a_chart_closes_it(tmp_path: Path) -> None:
    files = {"Chart.yaml": "{name: demo, version: 1.0.0}", "values.yaml": "replicas: 1", **SCHEMA_FILES}
    made = contract(tmp_path, files)
    assert made.tree.required == ("token",)
    good = {"replicas": None, "token": "abc", "mode": "a", "labels": {"a": "b"}, "classes": {"Hub": {"x": 1}}}
    assert check(made, good | {"free": {"any": 1}}) == []
    assert unknown(made, {"token": "abc", "hidden": 1}) == [("hidden",)]
    wrong = {"replicas": 0, "token": "ABC", "mode": "c", "labels": {"a": 1}, "classes": {"hub": {}}}
    problems = ["out of range", "wrong form", "not an allowed value", "wrong type", "wrong form"]
    assert [one.problem for one in check(made, wrong)] == problems


SCHEMA_FILES = {"values.schema.json": json.dumps(SCHEMA), "templates/x.yaml": "{{ .Values.hidden }}"}


@pytest.mark.parametrize(
    ("template", "paths"),
    [
        ("{{ .Values.a.b }}{{ $.Values.c }}", {"a.b", "c"}),
        ('{{ index .Values "a-b" "c" }}', {"a-b.c"}),
        ('{{ include "x" . }}', set()),
        ("{{- toYaml .Values.a | nindent 4 }}", {"a"}),
    ],
)
def test_value_paths_of_a_template(template: str, paths: set[str]) -> None:
    assert template_paths(template) == paths


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"values.yaml": ""}, "no Chart.yaml"),
        ({"Chart.yaml": "{name: demo}"}, "names no chart or no version"),
        ({"Chart.yaml": "[1]"}, "not a map"),
        (
            {
                "Chart.yaml": "{name: demo, version: 1}",
                "values.yaml": "a: [",
            },
            "values.yaml",
        ),
        ({"Chart.yaml": "{name: demo, version: 1}", "values.schema.json": "{"}, "demo-1.2.3.tgz"),
    ],
)
def test_a_bad_archive_is_refused(files: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(ContractError) as caught:
        build_archive(archive(tmp_path, files))
    assert says in str(caught.value)


def test_the_command_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["--archive", str(archive(tmp_path, CHART)), "--out", str(out)]) == 0
    assert [file.name for file in out.rglob("*.json")] == ["demo.json"]
    assert capsys.readouterr().out == f"1 contracts in {out}\n"


@pytest.mark.parametrize("option", ["--upstream", "--archive"])
def test_the_command_says_what_is_missing(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option, str(tmp_path / "absent"), "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("contracts.build: ") and "absent" in error and error.count("\n") == 1


def test_a_chart_without_a_row_in_the_index_is_refused(tmp_path: Path) -> None:
    row = f"| other | 1 | a/b | main | v1 | `{'0' * 40}` | 2026-01-01 |\n"
    (tmp_path / "INDEX.md").write_text("| x |\n" + row.replace("| main | v1 |", "| main |"), encoding="utf-8")
    (tmp_path / "demo" / "1.0.0").mkdir(parents=True)
    with pytest.raises(ContractError, match="no row in"):
        build_all(tmp_path)


DEFINITION = """
kind: CustomResourceDefinition
spec:
  group: example.org
  names: {kind: Thing}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {x-kubernetes-int-or-string: true, pattern: "^[0-9]+%$"}
              loose: {type: object, x-kubernetes-preserve-unknown-fields: true}
              whatever: {x-kubernetes-preserve-unknown-fields: true}
              maybe: {type: string, nullable: true, minLength: 2}
              counts: {type: object, maxProperties: 1, additionalProperties: {type: integer, minimum: 1}}
              pod:
                type: object
                properties: {metadata: {type: object}, spec: {type: object, properties: {containers: {}}}}
          status: {type: object, properties: {phase: {type: string}}}
  - {name: v0, served: false}
"""


def test_a_structural_schema_becomes_a_contract() -> None:
    (document,) = crd_contracts(yaml.safe_load(DEFINITION), "1", "a/b@c")
    made = from_json(document)
    assert made.name == "example.org/v1/Thing"

    def problems(**spec: Any) -> list[str]:
        base = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"size": 1} | spec}
        return [one.problem for one in check(made, base)]

    assert problems(maybe=None, loose={"a": 1}, whatever=[1], counts={"a": 1}, pod={"spec": {"any": 1}}) == []
    assert problems(size="10") == ["wrong form"]
    assert problems(size=True) == ["wrong type"]
    assert problems(maybe="a") == ["out of range"]
    assert problems(counts={"a": 0, "b": 1}) == ["out of range", "out of range"]
    assert problems(counts=None) == ["wrong type"]
    assert problems(pod={"spec": {}, "specs": {}}) == ["unknown key"]
    assert [key.open for path, key in made.places if path == ("spec", "loose")] == [FREE]


@pytest.mark.parametrize(
    "change", [("kind: CustomResourceDefinition", "kind: List"), ("openAPIV3Schema", "openAPIV2Schema")]
)
def test_what_is_no_definition_is_refused(change: tuple[str, str]) -> None:
    with pytest.raises(ContractError):
        list(crd_contracts(yaml.safe_load(DEFINITION.replace(*change)), "1", "a/b@c"))


def test_every_entry_that_opens_something_has_a_reason() -> None:
    table = OpenTable.read().raw
    for section in table["open"].values():
        for patterns, entry in section.items():
            opens = entry.get("is") in ("object", "list", "any", "extended")
            assert opens == ("reason" in entry), patterns


def test_a_bad_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text("a: [", encoding="utf-8")
    with pytest.raises(ContractError, match=r"table\.yaml"):
        OpenTable.read(file)
