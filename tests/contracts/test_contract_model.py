"""The model of a contract and the check of values against it, on a small contract made for the purpose."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eks_training.contracts.model import Contract, ContractError, Violation, check, from_json, json_type, load
from eks_training.finding import Severity

pytestmark = pytest.mark.schema

TREE: dict[str, Any] = {
    "type": "object",
    "required": ["workers"],
    "keys": {
        "partitions": {"type": "object", "values": {"type": "object", "keys": {"nodes": "array"}}},
        "workers": {
            "type": "object",
            "values": {
                "type": "object",
                "required": ["image"],
                "keys": {
                    "enabled": "boolean",
                    "image": "string|object",
                    "replicas": {"type": "integer", "min": 0, "max": 8},
                    "share": "number",
                    "mode": {"type": "string", "enum": ["StatefulSet", "DaemonSet"]},
                    "budget": {"type": "string", "pattern": "^[0-9]+%?$", "maxLength": 4},
                    "container": {"type": "object", "open": "Container", "keys": {"limits": "object"}},
                    "mounts": {"type": "array", "maxItems": 2, "items": {"type": "object", "keys": {"path": "string"}}},
                },
            },
        },
        "upper": {"type": "object", "names": "^[A-Z]", "values": "string"},
        "labels": {"type": "object", "values": "string", "maxKeys": 2},
        "port": "string|null",
        "pod": {"type": "object", "keys": {"enabled": "boolean"}},
        "job": {"type": "object", "keys": {"enabled": "boolean"}},
        "log": {"type": "object", "keys": {"enabled": "boolean"}},
        "nothing": {"type": "object", "keys": {}},
    },
}  # fmt: skip


def made(**other: Any) -> Contract:
    return from_json({
        "name": "made-up", "version": "1", "source": "nowhere", "kind": "crd", "completeness": "complete", "tree": TREE,
        **other,
    })  # fmt: skip


def worker(**keys: Any) -> dict[str, Any]:
    return {"workers": {"g": {"image": "i", **keys}}}


def only(values: Any, **other: Any) -> Violation:
    found = check(made(**other), values)
    assert len(found) == 1, found
    return found[0]


def test_what_fits_is_let_through() -> None:
    good = worker(replicas=3, share=2, mode="DaemonSet", budget="10%", mounts=[{"path": "/a"}], container={"any": [1]})
    assert check(made(), good | {"labels": {"a": "b"}, "port": None, "upper": {"Hub": "x"}, "nothing": {}}) == []


@pytest.mark.parametrize(
    ("values", "path", "problem", "near"),
    [
        (worker(replcas=1), ("workers", "g", "replcas"), "unknown key", ("workers.g.replicas",)),
        (worker(Replicas=1), ("workers", "g", "Replicas"), "unknown key", ("workers.g.replicas",)),
        (worker(limits={}), ("workers", "g", "limits"), "unknown key", ("workers.g.container.limits",)),
        (worker(path="/a"), ("workers", "g", "path"), "unknown key", ("workers.g.mounts[].path",)),
        (
            worker(mounts=[{"pat": 1}]),
            ("workers", "g", "mounts", 0, "pat"),
            "unknown key",
            ("workers.g.mounts[0].path",),
        ),
        (worker() | {"compute": {"partitions": {}}}, ("compute",), "unknown key", ("partitions",)),
        (worker() | {"efa": {"enabled": True}}, ("efa",), "unknown key", ()),
        (worker() | {"nothing": {"x": 1}}, ("nothing", "x"), "unknown key", ()),
        (worker(replicas="3"), ("workers", "g", "replicas"), "wrong type", ()),
        (worker(replicas=True), ("workers", "g", "replicas"), "wrong type", ()),
        (worker(replicas=9), ("workers", "g", "replicas"), "out of range", ()),
        (worker(replicas=-1), ("workers", "g", "replicas"), "out of range", ()),
        (worker(mode="Daemonset"), ("workers", "g", "mode"), "not an allowed value", ("DaemonSet",)),
        (worker(budget="ten"), ("workers", "g", "budget"), "wrong form", ()),
        (worker(budget="100000"), ("workers", "g", "budget"), "out of range", ()),
        (worker(mounts=[{}, {}, {}]), ("workers", "g", "mounts"), "out of range", ()),
        (worker(enabled=None), ("workers", "g", "enabled"), "wrong type", ()),
        (worker() | {"upper": {"hub": "x"}}, ("upper", "hub"), "wrong form", ()),
        (worker() | {"labels": {"a": 1}}, ("labels", "a"), "wrong type", ()),
        (worker() | {"labels": {"a": "", "b": "", "c": ""}}, ("labels",), "out of range", ()),
        (worker() | {"labels": {"a": datetime.date(2026, 1, 1)}}, ("labels", "a"), "wrong type", ()),
        ({"workers": [1]}, ("workers",), "wrong type", ()),
        ({"workers": {"g": {}}}, ("workers", "g", "image"), "missing key", ()),
        ({}, ("workers",), "missing key", ()),
        ("text", (), "wrong type", ()),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(values: Any, path: tuple[Any, ...], problem: str, near: tuple[str, ...]) -> None:
    found = only(values)
    assert (found.path, found.problem, found.near) == (path, problem, near)
    assert found.severity is Severity.ERROR
    assert found.found and found.expected


def test_null_drops_a_default_of_a_chart() -> None:
    assert check(made(kind="chart"), worker(enabled=None, container=None, mounts=None)) == []


@pytest.mark.parametrize(
    ("completeness", "unknown", "mistyped"),
    [
        ("complete", Severity.ERROR, Severity.ERROR),
        ("partial", Severity.WARNING, Severity.ERROR),
        ("stale", Severity.WARNING, Severity.WARNING),
    ],
)
def test_only_a_complete_contract_is_sure_of_unknown_keys(
    completeness: str, unknown: Severity, mistyped: Severity
) -> None:
    assert only(worker(bogus=1), completeness=completeness).severity is unknown
    assert only(worker(replicas="1"), completeness=completeness).severity is mistyped


def test_faults_come_in_the_order_of_the_values() -> None:
    values = {"zeta": 1, "workers": {"b": {}, "a": {"image": 1}}, "alpha": 1}
    wanted = [("zeta",), ("workers", "b", "image"), ("workers", "a", "image"), ("alpha",)]
    assert [found.path for found in check(made(), values)] == wanted


def test_a_place_knows_its_node() -> None:
    contract = made()
    assert contract.at(("workers", "any name", "mounts", 3, "path")) is not None
    assert contract.at(("workers", "g", "container", "deep", 0, "below")) is not None
    assert contract.at(("workers", "g", "bogus", "x")) is None
    assert ("workers", "*", "mounts", "[]", "path") in [path for path, _ in contract.places]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "table"}, "kind 'table'"),
        ({"completeness": "perfect"}, "completeness 'perfect'"),
        ({"colour": "red"}, "keys must be"),
        ({"tree": {"type": "text"}}, "no such type: text"),
        ({"tree": {"type": "object", "sons": {}}}, "not words of a contract: sons"),
        ({"tree": {"type": "string", "pattern": "("}}, "pattern"),
        ({"tree": 5}, "not a node"),
    ],
)
def test_a_file_of_another_form_is_refused(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    raw = {
        "name": "",
        "version": "",
        "source": "",
        "kind": "chart",
        "completeness": "stale",
        "tree": "object",
        **change,
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(ContractError, match=r"c\.json: ") as caught:
        load(file)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_file_that_is_no_contract_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ContractError):
        load(file)
    with pytest.raises(ContractError, match=r"absent\.json"):
        load(tmp_path / "absent.json")


NAMES = (
    st.sampled_from(["workers", "partitions", "g", "image", "mounts", "replicas", "mode", "budget", "labels"])
    | st.text()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.binary()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES | st.integers(), inner), max_leaves=30
)


@given(values=VALUES, completeness=st.sampled_from(["complete", "partial", "stale"]))
def test_no_value_makes_the_check_fail(values: Any, completeness: str) -> None:
    found = check(made(completeness=completeness), values)
    assert found == check(made(completeness=completeness), values)
    for one in found:
        assert json_type(one.found) == json_type(one.expected) == "string"
        assert len(one.near) <= 3


EXTREMES = (10**5000, -(10**5000), float("nan"), float("inf"), "x" * 100_000, "\ud800", b"\x00")


def test_extreme_values_are_refused_in_few_words() -> None:
    for bad in EXTREMES:
        tried: list[Any] = [worker(replicas=bad), worker(budget=bad), worker(mode=bad), {"workers": {}, "k": bad}]
        for value in tried:
            found = check(made(), value)
            assert found and all(len(one.found) < 100 for one in found)


def test_a_deep_value_is_no_trouble() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": deep}
    assert only(worker() | {"deep": deep}).problem == "unknown key"
    assert check(made(), worker(container=deep)) == []
