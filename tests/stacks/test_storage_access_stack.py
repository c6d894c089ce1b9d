"""Which pods may do what with storage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eks_training.plan.storage import AccessPlan, BucketUse
from tests.stacks.storage_synthesis import plan_with, storage_stacks
from tests.synthesis import Template, of_type

pytestmark = pytest.mark.template

ALL = """{
  lustre: {fast: {create: {deployment: SCRATCH_2, capacity_gib: 1200}}},
  efs: {homes: {create: {access_points: {users: {path: /home, uid: 1000, gid: 100}}}}},
  buckets: {
    datasets: {existing: {bucket_name: example-datasets}, mount: true, grants: [
      {namespace: training, service_account: trainer, access: read},
      {namespace: notebooks, service_account: reader, access: read}]},
    sealed: {existing: {bucket_name: example-sealed,
      kms_key_arn: "arn:aws:kms:us-east-2:111122223333:key/11111111-2222-3333-4444-555555555555"}, mount: true},
    checkpoints: {create: {encryption: kms}, grants: [
      {namespace: training, service_account: trainer, access: read},
      {namespace: training, service_account: trainer, access: write}]}}}"""
READ = {"s3:GetObject", "s3:GetObjectVersion"}
WRITE = {"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"}
EXISTING_ONLY = """{buckets: {datasets: {existing: {bucket_name: example-datasets}, grants: [
  {namespace: training, service_account: trainer, access: write}]}}}"""


def access(text: str = ALL) -> Template:
    return storage_stacks(text).access


def rights(template: Template, described: str) -> dict[str, set[str]]:
    """Allowed actions by resource, of the role whose description holds a text."""
    (role,) = [
        name
        for name, item in of_type(template, "AWS::IAM::Role").items()
        if described in item["Properties"]["Description"]
    ]
    found: dict[str, set[str]] = {}
    for policy in of_type(template, "AWS::IAM::Policy").values():
        if policy["Properties"]["Roles"] == [{"Ref": role}]:
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                assert statement["Effect"] == "Allow"
                for resource in listed(statement["Resource"]):
                    found.setdefault(shown(resource), set()).update(listed(statement["Action"]))
    return found


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def shown(resource: Any) -> str:
    """A resource as text; a value of the storage stack as its output name in angle brackets."""
    if isinstance(resource, str):
        return resource
    if "Fn::Join" in resource:
        return "".join(shown(part) for part in resource["Fn::Join"][1])
    output = resource["Fn::GetStackOutput"]
    assert output["StackName"] == "store-storage"
    return f"<{output['OutputName']}>"


def test_grants_of_one_account_become_one_role_and_association() -> None:
    associations = [item["Properties"] for item in of_type(access(), "AWS::EKS::PodIdentityAssociation").values()]
    assert sorted((item["Namespace"], item["ServiceAccount"], item["ClusterName"]) for item in associations) == [
        ("notebooks", "reader", "store"),
        ("training", "trainer", "store"),
    ]
    assert len({json.dumps(item["RoleArn"]) for item in associations}) == 2


def test_the_plan_merges_grants_and_the_wider_one_counts() -> None:
    assert plan_with(ALL).storage.access == (
        AccessPlan("training", "trainer", (BucketUse("datasets", False), BucketUse("checkpoints", True))),
        AccessPlan("notebooks", "reader", (BucketUse("datasets", False),)),
    )


def test_reading_and_writing_in_one_role() -> None:
    assert rights(access(), "training/trainer") == {
        "arn:aws:s3:::example-datasets": {"s3:ListBucket"},
        "arn:aws:s3:::example-datasets/*": READ,
        "arn:aws:s3:::<BucketCheckpointsName>": {"s3:ListBucket", "s3:ListBucketMultipartUploads"},
        "arn:aws:s3:::<BucketCheckpointsName>/*": READ | WRITE,
        "<BucketCheckpointsKeyArn>": {"kms:Decrypt", "kms:GenerateDataKey"},
    }


def test_reading_alone() -> None:
    assert rights(access(), "notebooks/reader") == {
        "arn:aws:s3:::example-datasets": {"s3:ListBucket"},
        "arn:aws:s3:::example-datasets/*": READ,
    }


def test_outputs_that_are_read_exist_in_the_storage_stack() -> None:
    stacks = storage_stacks(ALL)
    read = {
        part.split(">")[0] for resource in rights(stacks.access, "training/trainer") for part in resource.split("<")[1:]
    }
    assert read <= set(stacks.storage["Outputs"])


def test_pods_take_roles_with_session_tags() -> None:
    for role in of_type(access(), "AWS::IAM::Role").values():
        (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        assert set(statement["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
        assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}


def test_drivers_are_those_of_the_plan() -> None:
    stacks = storage_stacks(ALL)
    addons = [item["Properties"]["AddonName"] for item in of_type(stacks.access, "AWS::EKS::Addon").values()]
    assert addons == [addon.name for addon in stacks.plan.cluster.storage_addons]
    assert set(addons) == {"aws-fsx-csi-driver", "aws-efs-csi-driver", "aws-mountpoint-s3-csi-driver"}


def test_mountpoint_reads_the_mounted_buckets_and_nothing_else() -> None:
    key = "arn:aws:kms:us-east-2:111122223333:key/11111111-2222-3333-4444-555555555555"
    assert rights(access(), "s3-csi-driver-sa") == {
        "arn:aws:s3:::example-datasets": {"s3:ListBucket"},
        "arn:aws:s3:::example-datasets/*": READ,
        "arn:aws:s3:::example-sealed": {"s3:ListBucket"},
        "arn:aws:s3:::example-sealed/*": READ,
        key: {"kms:Decrypt"},
    }


def test_only_the_efs_controller_has_a_managed_policy() -> None:
    managed = {
        item["Properties"]["Description"].split()[2]: json.dumps(item["Properties"]["ManagedPolicyArns"])
        for item in of_type(access(), "AWS::IAM::Role").values()
        if "ManagedPolicyArns" in item["Properties"]
    }
    assert list(managed) == ["efs-csi-controller-sa"]
    assert managed["efs-csi-controller-sa"].count("AmazonEFSCSIDriverPolicy") == 1


def test_no_action_is_a_wildcard_and_everywhere_means_describing() -> None:
    for policy in of_type(access(), "AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            assert not any("*" in action for action in listed(statement["Action"]))
            if "*" in listed(statement["Resource"]):
                assert all(action.split(":")[1].startswith("Describe") for action in listed(statement["Action"]))


def test_storage_that_exists_needs_no_storage_stack() -> None:
    stacks = storage_stacks(EXISTING_ONLY)
    assert not stacks.plan.storage.creates
    assert rights(stacks.access, "training/trainer")["arn:aws:s3:::example-datasets/*"] == READ | WRITE
    assert of_type(stacks.access, "AWS::EKS::Addon") == {}


def test_holds_nothing_stateful() -> None:
    kinds = {item["Type"] for item in access()["Resources"].values()}
    assert kinds == {"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::EKS::Addon", "AWS::EKS::PodIdentityAssociation"}


@pytest.mark.parametrize("text", [ALL, EXISTING_ONLY], ids=["all", "existing"])
def test_every_permission_finding_is_explained(text: str) -> None:
    assert storage_stacks(text).complaints == ()
