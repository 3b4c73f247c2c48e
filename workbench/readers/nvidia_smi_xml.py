"""``nvidia-smi -q -x``: one document a call, one ``<gpu>`` a GPU; dtd v10 to v13.

The time is local. More GPUs may be attached than are listed: those that are lost. A lost GPU may
also be listed, with the text of an error in every field.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbench.errors import DataError
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.gpu_tree import Tree
from workbench.readers.smi_stamp import iso_stamp
from workbench.readers.source import Source, damage_batches
from workbench.readers.told import Told
from workbench.readers.toldlines import HOST_MISSING
from workbench.readers.toldtimes import Waiting
from workbench.readers.xmldoc import Element, root_of, xml_documents

__all__ = ["READER"]

_ROOT = "nvidia_smi_log"
_LIMIT = 256 * 1024 * 1024
_ASIDE = frozenset({"supported_clocks", "processes", "accounted_processes", "supported_gpu_target_temp"})
_NO_GPU = "no GPU in the document"
_OTHER = "no document of nvidia-smi: <nvidia_smi_log> was expected"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if root_of(head) != _ROOT:
        return None
    return Match(confidence=0.98, rule="<nvidia_smi_log>, as nvidia-smi -q -x writes it")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    told, waiting = Told(), Waiting(context)
    try:
        data = source.read_all(_LIMIT)
    except DataError as error:
        told.reject(1, str(error))
        data = b""
    for document in xml_documents(data):
        if document.root is not None and document.root.tag == _ROOT:
            _tell(document.root, document.why, context, (told, waiting))
        elif document.why is None:
            told.reject(document.line, _OTHER)
        if document.why is not None:
            told.reject(document.line, document.why)
        waiting.tell(told)
        yield told.batch()
    yield told.batch()
    yield from damage_batches(source)


def _tell(log: Element, broken: str | None, context: Context, to: tuple[Told, Waiting]) -> None:
    told, waiting = to
    head = {child.tag: child.text for child in log.children if child.tag != "gpu"}
    gpus = [child for child in log.children if child.tag == "gpu"]
    attached = int(head["attached_gpus"]) if head.get("attached_gpus", "").isdigit() else None
    if not gpus and broken is None:
        told.reject(log.line, _NO_GPU) if attached else told.skip("empty")
    for place, gpu in enumerate(gpus):
        whole = attached == len(gpus)
        tree = _tree(gpu, head.get("driver_version", ""), place if whole else None)
        if context.host is None:
            told.reject(gpu.line, HOST_MISSING, tree.pci, curable="host")
            continue
        last = place == len(gpus) - 1 and broken is None and attached is not None and attached > len(gpus)
        tree.short = (attached or 0, len(gpus)) if last else None
        stamp = iso_stamp(head.get("timestamp", ""))
        waiting.add(gpu.line, stamp, tree.pci, tell=partial(tree.tell, told, context.host))


def _tree(gpu: Element, driver: str, index: int | None) -> Tree:
    tree = Tree(line=gpu.line, pci=gpu.attributes.get("id", ""), driver=driver, index=index)
    for child in gpu.children:
        if child.tag == "mig_devices":
            tree.slices += [
                [(".".join(path), text) for path, text in part.leaves()] for part in child.every("mig_device")
            ]
            continue
        found = [((child.tag, *path), text) for path, text in child.leaves()] or [((child.tag,), child.text)]
        leaves = [(".".join(path), text) for path, text in found]
        (tree.aside if child.tag in _ASIDE else tree.leaves).extend(leaves)
    return tree


READER = Reader(name="nvidia_smi_xml", recognise=_recognise, read=_read)
