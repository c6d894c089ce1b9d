"""What Karpenter needs from AWS: the controller's rights, the nodes' way in, the queue."""

from typing import Any

import pytest

from constructs.interruption_queue import EVENTS
from constructs.karpenter_access import KarpenterAccess
from eks_training.plan.karpenter import KarpenterPlan
from eks_training.plan.release import ChartRef
from eks_training.plan.value import Output
from tests.synthesis import Template, of_type, only, template_of

pytestmark = pytest.mark.template


def plan(*, isolated: bool = False) -> KarpenterPlan:
    return KarpenterPlan(
        stack="t-karpenter",
        namespace="kube-system",
        service_account="karpenter",
        isolated_vpc=isolated,
        instance_profile=Output("t-karpenter", "NodeInstanceProfile") if isolated else None,
        node_role=Output("t-karpenter", "NodeRoleName"),
        queue=Output("t-karpenter", "InterruptionQueueName"),
        crd_chart=ChartRef("karpenter-crd", "oci://registry.example.com/karpenter-crd", "1.14.1"),
        chart=ChartRef("karpenter", "oci://registry.example.com/karpenter", "1.14.1"),
        image_repository=None,
        replicas=2,
        static_capacity=False,
        node_selector=(),
    )


@pytest.fixture(scope="module")
def template() -> Template:
    return template_of(lambda stack: KarpenterAccess(stack, "Access", karpenter=plan(), cluster_name="t"))


def statements(template: Template) -> list[dict[str, Any]]:
    return [
        statement
        for policy in of_type(template, "AWS::IAM::ManagedPolicy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def actions(statement: dict[str, Any]) -> set[str]:
    action = statement["Action"]
    return {action} if isinstance(action, str) else set(action)


def test_nodes_may_join_in_api_mode(template: Template) -> None:
    entry = only(template, "AWS::EKS::AccessEntry")
    assert entry["Type"] == "EC2_LINUX"
    (role_id,) = (
        name
        for name, role in of_type(template, "AWS::IAM::Role").items()
        if role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        == {"Service": "ec2.amazonaws.com"}
    )
    assert entry["PrincipalArn"] == {"Fn::GetAtt": [role_id, "Arn"]}


def test_the_controller_is_reached_by_pod_identity_with_session_tags(template: Template) -> None:
    association = only(template, "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == ("kube-system", "karpenter")
    (trust,) = (
        role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
        for role in of_type(template, "AWS::IAM::Role").values()
        if role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        == {"Service": "pods.eks.amazonaws.com"}
    )
    assert actions(trust) == {"sts:AssumeRole", "sts:TagSession"}


def test_placement_groups_and_reservations_can_be_used(template: Template) -> None:
    launch = [item for item in statements(template) if "ec2:RunInstances" in actions(item)]
    resources = str([item["Resource"] for item in launch])
    assert ":placement-group/*" in resources and ":capacity-reservation/*" in resources
    described = set().union(*(actions(item) for item in statements(template)))
    assert {"ec2:DescribePlacementGroups", "ec2:DescribeCapacityReservations"} <= described


def test_every_statement_that_changes_something_is_bound_to_this_cluster(template: Template) -> None:
    reading = ("Describe", "Get", "List", "ReceiveMessage")
    for statement in statements(template):
        writes = [item for item in actions(statement) if not item.split(":")[1].startswith(reading)]
        if not writes or statement["Sid"] in ("UseSharedResources", "InterruptionQueue", "PassNodeRole"):
            continue
        conditions = str(statement["Condition"])
        assert "kubernetes.io/cluster/t" in conditions, statement["Sid"]
    unbound = [item for item in statements(template) if item["Resource"] == "*"]
    for statement in unbound:
        assert all(item.split(":")[1].startswith(reading) for item in actions(statement)), statement["Sid"]


def test_only_the_node_role_can_be_passed(template: Template) -> None:
    (passed,) = (item for item in statements(template) if "iam:PassRole" in actions(item))
    assert set(passed["Resource"]) == {"Fn::GetAtt"}
    assert "NodeRole" in passed["Resource"]["Fn::GetAtt"][0]


def test_the_queue_hears_every_kind_of_interruption(template: Template) -> None:
    heard = {
        (rule["Properties"]["EventPattern"]["source"][0], rule["Properties"]["EventPattern"]["detail-type"][0])
        for rule in of_type(template, "AWS::Events::Rule").values()
    }
    assert heard == set(EVENTS.values())
    (queue_id,) = of_type(template, "AWS::SQS::Queue")
    for rule in of_type(template, "AWS::Events::Rule").values():
        assert rule["Properties"]["Targets"][0]["Arn"] == {"Fn::GetAtt": [queue_id, "Arn"]}
    assert only(template, "AWS::SQS::Queue")["SqsManagedSseEnabled"] is True


def test_an_instance_profile_is_made_where_iam_cannot_be_reached() -> None:
    isolated = template_of(
        lambda stack: KarpenterAccess(stack, "Access", karpenter=plan(isolated=True), cluster_name="t")
    )
    assert len(of_type(isolated, "AWS::IAM::InstanceProfile")) == 1


def test_no_instance_profile_where_karpenter_makes_its_own(template: Template) -> None:
    assert not of_type(template, "AWS::IAM::InstanceProfile")
