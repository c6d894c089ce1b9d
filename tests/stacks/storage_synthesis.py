"""The network, storage and storage-access stacks alone, from the `storage:` section of a configuration."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from aws_cdk import Environment, Validations
from cdk_nag import AwsSolutionsChecks

from eks_training.plan import Plan
from stacks.network import NetworkStack
from stacks.storage import StorageStack
from stacks.storage_access import StorageAccessStack
from tests.synthesis import Template, new_app, plan_of

AROUND = """
name: store
region: us-east-2
account: "111122223333"
network: {{training_zone: us-east-2b, second_zone: us-east-2a, cidr: 10.64.0.0/16}}
kubernetes:
  version: "1.35"
  administrators: ["arn:aws:iam::111122223333:role/admin"]
pools:
  system: {{purpose: system, instance_type: m7i.2xlarge, nodes: 2}}
storage: {storage}
"""

EVERYTHING = """{
  lustre: {fast: {create: {deployment: PERSISTENT_2, capacity_gib: 4800, throughput_mbps_per_tib: 250,
    associations: {
      corpora: {bucket: datasets, prefix: corpora/, path: /datasets, auto_import: [NEW, CHANGED, DELETED]},
      results: {bucket: outputs, path: /outputs, auto_export: [NEW, CHANGED], import_metadata_on_create: false}}}}},
  efs: {homes: {create: {access_points: {
    users: {path: /home, uid: 1000, gid: 100, permissions: "0750"},
    shared: {path: /shared, uid: 2000, gid: 2000}}}}},
  buckets: {
    datasets: {existing: {bucket_name: example-datasets}},
    outputs: {create: {}},
    checkpoints: {create: {encryption: kms, noncurrent_days: 14, abort_uploads_days: 3}}}}"""
"""One of each that is made here, and a bucket that exists."""


@dataclass(frozen=True)
class StorageStacks:
    """What synthesis of the storage stacks gave."""

    plan: Plan
    storage: Template
    access: Template
    network: Template
    complaints: tuple[str, ...]


def plan_with(storage: str) -> Plan:
    """A Plan whose configuration is small but for the storage section, given as flow-style YAML."""
    return plan_of(AROUND.format(storage=storage))


@lru_cache(maxsize=64)
def storage_stacks(storage: str) -> StorageStacks:
    """Synthesise with cdk-nag and CDK's own template checks; their findings on the storage stacks are `complaints`."""
    plan = plan_with(storage)
    with tempfile.TemporaryDirectory() as folder:
        app = new_app(folder)
        env = Environment(account=plan.account, region=plan.region)
        network = NetworkStack(app, plan.network.stack, plan=plan, env=env)
        made = None
        if plan.storage.creates:
            made = StorageStack(app, plan.storage.stack, plan=plan, network=network, env=env)
        if plan.storage.needs_access:
            StorageAccessStack(
                app, plan.storage.access_stack, plan=plan, cluster_name=plan.cluster.name, storage=made, env=env
            )
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))
        app.synth()
        report = json.loads((Path(folder) / "validation-report.json").read_text())

        def template(stack: str) -> Template:
            file = Path(folder) / f"{stack}.template.json"
            read: Template = json.loads(file.read_text()) if file.exists() else {"Resources": {}, "Outputs": {}}
            return read

        return StorageStacks(
            plan,
            template(plan.storage.stack),
            template(plan.storage.access_stack),
            template(plan.network.stack),
            tuple(_complaints(report, (plan.storage.stack, plan.storage.access_stack))),
        )


def _complaints(report: dict[str, Any], stacks: tuple[str, ...]) -> list[str]:
    return [
        f"{violation['ruleName']} at {where['constructPath']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for where in violation["violatingConstructs"]
        if where["constructPath"].split("/")[0] in stacks
    ]


def which(group: Any) -> str:
    """Whose security group a reference means: nodes' groups come from the network stack."""
    return "nodes" if "Fn::GetStackOutput" in group else "servers"
