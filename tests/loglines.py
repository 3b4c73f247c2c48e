"""How well lines are grouped by template, against known labels."""

from collections.abc import Hashable, Sequence


def grouping_accuracy(found: Sequence[Hashable], labels: Sequence[Hashable]) -> float:
    """Give the share of lines whose group holds exactly the lines of one label (Zhu et al., ICSE-SEIP 2019)."""
    by_label: dict[Hashable, set[int]] = {}
    by_group: dict[Hashable, set[int]] = {}
    for index, (group, label) in enumerate(zip(found, labels, strict=True)):
        by_label.setdefault(label, set()).add(index)
        by_group.setdefault(group, set()).add(index)
    right = {frozenset(rows) for rows in by_label.values()}
    return sum(len(rows) for rows in by_group.values() if frozenset(rows) in right) / max(1, len(labels))
