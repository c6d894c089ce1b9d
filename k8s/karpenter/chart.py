"""The EC2NodeClass and the NodePool of every Karpenter pool.

Field names and limits: the definitions of karpenter-crd 1.14.1 (aws/karpenter-provider-aws@bde0065), against which the
tests hold every object.  One node class per pool: interfaces, placement group and reservation fit one instance type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cdk8s
from constructs import Construct

from eks_training.plan import Plan
from eks_training.plan.karpenter import Budget, KarpenterPlan, KarpenterPool
from eks_training.plan.pool import PoolPlan, TaintPlan, VolumePlan
from eks_training.plan.value import Value

CLASS_GROUP, CLASS_KIND = "karpenter.k8s.aws", "EC2NodeClass"
POOL_GROUP, POOL_KIND = "karpenter.sh", "NodePool"
VERSION = "v1"

Fields = dict[str, Any]
Resolve = Callable[[Value], str]


class KarpenterPools(cdk8s.Chart):
    """Node classes and node pools, each class before its pool.

    Args:
        plan: the whole Plan; without Karpenter pools the chart is empty.
        resolve: turns an output into its value, a CDK token or the text from an outputs file; a literal stays itself.
    """

    def __init__(self, scope: Construct, id: str, *, plan: Plan, resolve: Resolve) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        for pool in plan.pools:
            if pool.karpenter is None or plan.karpenter is None:
                continue
            node_class = self._add(pool.name, CLASS_GROUP, CLASS_KIND, _node_class(plan, plan.karpenter, pool, resolve))
            node_pool = self._add(pool.name, POOL_GROUP, POOL_KIND, _node_pool(pool, pool.karpenter))
            node_pool.add_dependency(node_class)

    def _add(self, name: str, group: str, kind: str, spec: Fields) -> cdk8s.ApiObject:
        made = cdk8s.ApiObject(
            self,
            f"{name}-{kind}",
            api_version=f"{group}/{VERSION}",
            kind=kind,
            metadata=cdk8s.ApiObjectMetadata(name=name),
        )
        # The Python binding takes no fields of its own in the constructor.
        made.add_json_patch(cdk8s.JsonPatch.add("/spec", spec))
        return made


def _set(fields: Mapping[str, Any]) -> Fields:
    """The fields that have a value; a null in a manifest is something else than a missing field."""
    return {name: value for name, value in fields.items() if value is not None}


def _node_class(plan: Plan, karpenter: KarpenterPlan, pool: PoolPlan, resolve: Resolve) -> Fields:
    reservation = pool.capacity.reservation_id
    return _set(
        {
            **_identity(karpenter, resolve),
            "amiSelectorTerms": [{"alias": pool.image.karpenter_alias}],
            "subnetSelectorTerms": [{"id": resolve(plan.network.training_subnet_id)}],
            "securityGroupSelectorTerms": [{"id": resolve(group)} for group in pool.security_groups],
            "blockDeviceMappings": [_volume(volume) for volume in pool.volumes],
            "instanceStorePolicy": "RAID0" if pool.raid0 else None,
            "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1},
            "networkInterfaces": _interfaces(pool) if pool.efa else None,
            "placementGroupSelector": _placement(pool, resolve),
            "capacityReservationSelectorTerms": [{"id": reservation}] if reservation else None,
            "tags": dict(pool.node_tags),
        }
    )


def _identity(karpenter: KarpenterPlan, resolve: Resolve) -> Fields:
    """Karpenter makes a profile from the role, or uses one that exists where it cannot reach IAM."""
    if karpenter.instance_profile is not None:
        return {"instanceProfile": resolve(karpenter.instance_profile)}
    return {"role": resolve(karpenter.node_role)}


def _volume(volume: VolumePlan) -> Fields:
    ebs = {
        "volumeType": "gp3",
        "volumeSize": f"{volume.size_gib}Gi",
        "iops": volume.iops,
        "throughput": volume.throughput_mibps,
        "encrypted": True,
        "deleteOnTermination": True,
    }
    # The flag names the disk with images and pods, which is not the first one on every image family.
    return {"deviceName": volume.device, "rootVolume": volume.holds_images, "ebs": _set(ebs)}


def _interfaces(pool: PoolPlan) -> list[Fields]:
    return [
        {"networkCardIndex": interface.card, "deviceIndex": interface.device, "interfaceType": interface.kind}
        for interface in pool.interfaces
    ]


def _placement(pool: PoolPlan, resolve: Resolve) -> Fields | None:
    group = pool.placement.group
    if group is None:
        return None
    return {"id" if pool.placement.by_id else "name": resolve(group)}


def _node_pool(pool: PoolPlan, karpenter: KarpenterPool) -> Fields:
    template = {
        "nodeClassRef": {"group": CLASS_GROUP, "kind": CLASS_KIND, "name": pool.name},
        "requirements": _requirements(pool, karpenter),
        "taints": [_taint(taint) for taint in pool.taints] or None,
        "expireAfter": karpenter.expire_after,
        "terminationGracePeriod": karpenter.termination_grace_period,
    }
    return _set(
        {
            "replicas": pool.desired_nodes if karpenter.static else None,
            "template": {"metadata": {"labels": dict(pool.labels)}, "spec": _set(template)},
            "disruption": {
                "consolidationPolicy": karpenter.consolidation_policy,
                "consolidateAfter": karpenter.consolidate_after,
                "budgets": [_budget(budget) for budget in karpenter.budgets],
            },
            "limits": dict(karpenter.limits),
        }
    )


def _requirements(pool: PoolPlan, karpenter: KarpenterPool) -> list[Fields]:
    zone_label, zone = karpenter.zone_label
    allowed = (
        ("node.kubernetes.io/instance-type", [pool.instance_type]),
        ("karpenter.sh/capacity-type", list(karpenter.capacity_types)),
        (zone_label, [zone]),
        ("kubernetes.io/arch", [pool.arch]),
        ("kubernetes.io/os", ["linux"]),
    )
    return [{"key": key, "operator": "In", "values": values} for key, values in allowed]


def _taint(taint: TaintPlan) -> Fields:
    """The definition refuses an empty value and accepts none."""
    return _set({"key": taint.key, "value": taint.value or None, "effect": taint.effect})


def _budget(budget: Budget) -> Fields:
    """Without reasons a budget counts for all of them."""
    return _set({"nodes": budget.nodes, "reasons": list(budget.reasons) or None})
