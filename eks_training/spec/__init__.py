"""The Spec: what the user asked for, as frozen typed values.

One module per section of cluster.yaml.  Limits of a single field live here; whatever relates fields to each other or to
facts is a rule.
"""

from eks_training.spec.cluster import Cluster

__all__ = ["Cluster"]
