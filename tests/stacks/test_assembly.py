"""Whole cloud assemblies: every example against its golden, the security rule pack, cfn-lint, and itself."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks
from cfnlint.api import ManualArgs, lint

from eks_training.pipeline import plan_json
from eks_training.plan import Plan, as_data
from eks_training.summary import summary
from stacks.assembly import add_stacks
from tests.conftest import Golden
from tests.synthesis import ROOT, Assembly, assembled, new_app, of_type, plan_of, values

pytestmark = pytest.mark.template

# W3010: a zone is written out because training stays where its capacity is.  W3005: functions that the CDK ships name
# their role twice.  The templates carry the same two in their metadata.
ACCEPTED = ["W3005", "W3010"]

EXAMPLES = {
    "cluster": ROOT / "cluster.yaml",
    **{path.stem: path for path in sorted((ROOT / "examples").glob("*.yaml"))},
}
each_example = pytest.mark.parametrize("path", EXAMPLES.values(), ids=EXAMPLES.keys())


def outputs(tree: object) -> Iterable[tuple[str, str]]:
    """Every Output of a Plan as (stack, key)."""
    if isinstance(tree, dict):
        if tree.keys() == {"stack", "output"}:
            yield tree["stack"], tree["output"]
        for item in tree.values():
            yield from outputs(item)
    elif isinstance(tree, list):
        for item in tree:
            yield from outputs(item)


@each_example
def test_golden_assembly(path: Path, golden: Golden) -> None:
    assembly = assembled(path.read_text())
    files = {f"{name}.template.json": _pretty(template) for name, template in assembly.templates.items()}
    golden(path.stem, {**files, "plan.json": plan_json(assembly.plan), "summary.txt": summary(assembly.plan)})


def _pretty(template: dict[str, Any]) -> str:
    """Sorted keys and no asset hashes: these name the function code that the CDK ships."""
    text = json.dumps(template, indent=1, sort_keys=True)
    for asset in sorted({str(value) for value in values(template) if _is_asset(str(value))}):
        text = text.replace(asset, "ASSET.zip")
    return text + "\n"


def _is_asset(value: str) -> bool:
    name = value.removesuffix(".zip")
    return value.endswith(".zip") and len(name) == 64


@each_example
def test_synthesis_twice_gives_the_same_bytes(path: Path) -> None:
    first = assembled(path.read_text())
    assembled.cache_clear()
    second = assembled(path.read_text())
    assert first.files.keys() == second.files.keys()
    for name, content in first.files.items():
        if name != "validation-report.json":
            assert content == second.files[name], name


@each_example
def test_security_rule_pack_has_nothing_unacknowledged(path: Path, tmp_path: Path) -> None:
    app = new_app(str(tmp_path))
    add_stacks(app, plan_of(path.read_text()))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()
    reports = json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"]
    (pack,) = (report for report in reports if report["pluginName"] == "AwsSolutions")
    assert pack["conclusion"] == "success"
    assert pack["violations"] == []
    assert all(len(item["reason"]) > 30 for item in pack["suppressedViolations"])


@each_example
def test_cfn_lint_is_clean(path: Path) -> None:
    assembly = assembled(path.read_text())
    for name, template in assembly.templates.items():
        found = lint(
            json.dumps(template, sort_keys=True),
            config=ManualArgs(regions=[assembly.plan.region], ignore_checks=ACCEPTED),
        )
        assert [str(match) for match in found] == [], name


@each_example
def test_no_lookup_and_no_warning(path: Path) -> None:
    assembly = assembled(path.read_text())
    assert "missing" not in assembly.manifest
    for artifact in assembly.manifest["artifacts"].values():
        for entries in artifact.get("metadata", {}).values():
            assert not [entry for entry in entries if entry["type"] in ("aws:cdk:warning", "aws:cdk:error")]


@each_example
def test_stacks_are_those_of_the_plan_in_one_direction(path: Path) -> None:
    assembly = assembled(path.read_text())
    order = assembly.plan.stacks
    assert assembly.templates.keys() == set(order)
    for name, artifact in assembly.manifest["artifacts"].items():
        if artifact["type"] != "aws:cloudformation:stack":
            continue
        for needed in artifact.get("dependencies", ()):
            if not needed.endswith(".assets"):
                assert order.index(needed) < order.index(name), f"{name} needs {needed}"


@each_example
def test_every_output_that_the_plan_names_is_there(path: Path) -> None:
    assembly = assembled(path.read_text())
    for stack, key in outputs(as_data(assembly.plan)):
        assert key in assembly.templates[stack].get("Outputs", {}), f"{stack}: {key}"


@each_example
def test_no_unresolved_token_is_written(path: Path) -> None:
    assembly = assembled(path.read_text())
    for template in assembly.templates.values():
        assert not [value for value in values(template) if isinstance(value, str) and "${Token[" in value]


@each_example
def test_training_stays_in_one_zone(path: Path) -> None:
    assembly = assembled(path.read_text())
    plan = assembly.plan
    training = plan.network.training_subnet
    assert training.zone == plan.network.training_zone
    for pool in plan.pools:
        if pool.purpose != "system":
            assert pool.subnets == (training.key,)
    for pool in plan.node_group_pools:
        (group,) = of_type(assembly.templates[pool.stack], "AWS::EKS::Nodegroup").values()
        (subnet,) = group["Properties"]["Subnets"]
        assert _names(subnet, "Training") or subnet == training.id


def _names(reference: Any, word: str) -> bool:
    return isinstance(reference, dict) and word in reference["Fn::GetStackOutput"]["OutputName"]


@each_example
def test_nodes_carry_the_groups_that_cluster_storage_and_efa_need(path: Path) -> None:
    assembly = assembled(path.read_text())
    for pool in (*assembly.plan.system_pools, *assembly.plan.node_group_pools):
        templates = of_type(assembly.templates[pool.stack], "AWS::EC2::LaunchTemplate")
        (launch,) = (
            item["Properties"]["LaunchTemplateData"]
            for item in templates.values()
            if item["Properties"]["LaunchTemplateData"]["InstanceType"] == pool.instance_type
        )
        for interface in launch["NetworkInterfaces"]:
            groups = json.dumps(interface["Groups"])
            assert "ClusterSecurityGroupId" in groups
            assert "Nodes" in groups
            assert ("Efa" in groups) == pool.efa
            assert all(group in groups for group in pool.security_groups if isinstance(group, str))


def test_with_and_without_an_account() -> None:
    text = (ROOT / "cluster.yaml").read_text()
    open_account = assembled(text.replace('account: "111122223333"\n', ""))
    assert "missing" not in open_account.manifest
    for artifact in open_account.manifest["artifacts"].values():
        if artifact["type"] == "aws:cloudformation:stack":
            assert artifact["environment"] == "aws://unknown-account/us-east-2"


def test_storage_does_not_know_the_cluster() -> None:
    assembly: Assembly = assembled((ROOT / "cluster.yaml").read_text())
    plan: Plan = assembly.plan
    text = json.dumps(assembly.template("storage"))
    assert plan.cluster.stack not in text.replace(f'"{plan.name}"', "")
    assert assembly.manifest["artifacts"][plan.storage.stack]["dependencies"] == [
        plan.network.stack,
        f"{plan.storage.stack}.assets",
    ]


@each_example
def test_nothing_with_data_stays_behind_when_its_creation_is_rolled_back(path: Path) -> None:
    """A leftover of a fixed name blocks the next attempt; a leftover file system is billed unseen."""
    for template in assembled(path.read_text()).templates.values():
        for name, resource in template["Resources"].items():
            assert resource.get("DeletionPolicy") in (None, "Delete", "RetainExceptOnCreate"), name


def test_the_assembly_lands_where_it_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        add_stacks(app, plan_of((ROOT / "examples" / "development.yaml").read_text()))
        app.synth()
        assert (Path(folder) / "manifest.json").is_file()
