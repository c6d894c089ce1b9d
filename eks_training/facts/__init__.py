"""Facts: what AWS and the vendors state, as data with sources and dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eks_training.facts.instances import Accelerator, DeclaredFacts, InstanceTable, load_instances
from eks_training.facts.versions import VersionTable, load_versions

if TYPE_CHECKING:
    from eks_training.spec import Cluster
    from eks_training.spec.cluster import DeclaredInstance

__all__ = ["Facts", "facts_for"]


@dataclass(frozen=True)
class Facts:
    """Everything that rules and planner may know besides the Spec."""

    instances: InstanceTable
    versions: VersionTable

    @property
    def default_kubernetes(self) -> str:
        """The Kubernetes minor of a cluster that names none."""
        return self.versions.row("kubernetes").version or ""


def facts_for(spec: Cluster) -> Facts:
    """The shipped tables with the instance facts that the user declared laid over them."""
    instances = load_instances()
    for name, declared in spec.instance_types.items():
        instances = instances.declare(name, _declared(declared), source=declared.source)
    return Facts(instances, load_versions())


def _declared(stated: DeclaredInstance) -> DeclaredFacts:
    facts: DeclaredFacts = {}
    for field in (
        "arch",
        "vcpus",
        "memory_mib",
        "network_cards",
        "ipv4_per_interface",
        "efa_interfaces",
        "instance_store_gb",
    ):
        value = getattr(stated, field)
        if value is not None:
            facts[field] = value
    if stated.interfaces_per_card is not None:
        facts["interfaces_per_card"] = tuple(stated.interfaces_per_card)
    if stated.efa_cards is not None:
        facts["efa_cards"] = tuple(stated.efa_cards)
    if stated.efa_interfaces is not None:
        facts["efa_supported"] = stated.efa_interfaces > 0
    if stated.accelerator is not None:
        device = stated.accelerator
        facts["accelerator"] = Accelerator(device.kind, device.model, device.count, device.memory_mib_each)
        if device.neuron_cores is not None:
            facts["neuron_cores"] = device.neuron_cores
    return facts
