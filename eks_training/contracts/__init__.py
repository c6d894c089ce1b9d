"""What charts and custom resources really accept: the model and the check (``model``), and how contracts are made from
upstream data (``build``, ``chart``, ``crd``)."""
