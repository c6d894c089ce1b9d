"""The pure core: from the text of cluster.yaml to a Plan.

The flow has one direction, and every arrow is one function with typed ends::

    text -> Document -> Spec -> Findings? -> Plan

``document.parse`` keeps positions, ``loading.load`` makes the Spec, ``checking.check`` runs the rule book,
``plan.build`` takes every decision.  Nothing in this package imports a cloud or a Kubernetes library or touches the
network; ``cli`` is the one exception and imports what a verb needs inside that verb.
"""
