"""Whose sample it is: labels of exporters turned into host, device, and names for one device.

Exporters name one GPU by index, UUID, PCI address and device file; the UUID is the stable one.
``Hostname`` of a pod is the name of the pod, not of the node, and is never taken for a host.
"""

from __future__ import annotations

import json

import polars as pl

from workbench.model import frames
from workbench.model.pci import normal_pci_column
from workbench.readers.text import json_object, json_text

__all__ = ["alias_rows", "entity_rows", "label_json", "link_rows", "wide_labels", "who_of"]

_GPU_ID = ("UUID", "gpu_uuid", "uuid")
_NODE = ("node", "nodename", "node_name", "kubernetes_node", "k8s.node.name")
_POD = ("pod", "namespace", "container", "k8s.pod.name", "k8s.namespace.name")
#: Labels that name a host, outside of pods.
_HOST = ("Hostname", "hostname", "host", "host.name")
_OTHER = ("instance", "gpu", "pci_bus_id", "device", "modelName", "GPU_I_ID", "GPU_I_PROFILE", "index", "name")
_WANTED = (*_GPU_ID, *_NODE, *_POD, *_HOST, *_OTHER, "nvswitch", "nvlink", "port", "DCGM_FI_DRIVER_VERSION")
_MANY_LABELS = 60  # beyond, a column a label costs more than sorting
_NOWHERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "")  # noqa: S104 - refused as a host, not bound
#: Labels that say which device it is, and what it is like; by the kind of the device.
_OF_GPU = (*_GPU_ID, "gpu", "pci_bus_id", "device", "modelName", "GPU_I_ID", "GPU_I_PROFILE", "nvlink")
_OF_SWITCH = ("nvswitch", "nvlink", "device")
_OF_TELEGRAF = ("index", "name")  # of its nvidia_smi input
_TELEGRAF = "nvidia_smi_"
_SLURM = "slurm_nodes_"  # of its slurm input: the tag name is the node
_HOST_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_HCA = r"^(?:mlx\d|ibp?\d|bnxt_re|efa_)\w*$"


def wide_labels(names: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Give one row a series, with the labels that can say whose it is as columns (empty: null).

    Parameters
    ----------
    names : polars.DataFrame
        ``id``, ``metric``, ``first``.
    labels : polars.DataFrame
        ``id``, ``label``, ``value``.

    Examples
    --------
    >>> names = pl.DataFrame({"id": [7], "metric": ["up"], "first": [1]})
    >>> wide = wide_labels(names, pl.DataFrame({"id": [7], "label": ["instance"], "value": ["n1:9400"]}))
    >>> wide.select("metric", "instance", "pod", "in_pod").rows()
    [('up', 'n1:9400', None, False)]
    """
    told = labels.filter(pl.col("label").is_in(_WANTED))
    wide = (
        told.pivot("label", index="id", values="value", aggregate_function="first")
        if told.height
        else labels.select("id").clear()
    )
    missing = [pl.lit(None, pl.String).alias(name) for name in _WANTED if name not in wide.columns]
    rows = names.join(wide.with_columns(missing), on="id", how="left", maintain_order="left")
    in_pod = pl.any_horizontal(pl.col(_POD).is_not_null()) | pl.col("Hostname").str.contains(
        "dcgm-exporter", literal=True
    )
    rows = rows.with_columns(in_pod=in_pod.fill_null(value=False))
    return rows.with_columns(pl.when(pl.col(name) != "").then(name).alias(name) for name in _WANTED)


def who_of(wide: pl.DataFrame, *, nodename: str | None, host: str | None) -> pl.DataFrame:
    """Add ``host``, ``device_kind``, ``device`` and, for a part, ``parent_kind`` and ``parent``.

    Parameters
    ----------
    wide : polars.DataFrame
        Of :func:`wide_labels`.
    nodename : str or None
        What ``node_uname_info`` says, for series that name no host.
    host : str or None
        What the user stated, where the file names none.
    """
    address = pl.col("instance").str.extract(r"^\[?([^\[\]]*?)\]?(?::\d+)?$")
    address = pl.when(~address.is_in(_NOWHERE)).then(address)
    dcgm = pl.col("metric").str.starts_with("DCGM_")
    labelled = [pl.when(pl.col(name).str.contains(_HOST_NAME)).then(name) for name in _HOST]
    written = pl.when(~pl.col("in_pod")).then(pl.coalesce(*labelled, address))
    uuid = pl.coalesce(pl.when(pl.col(name).str.starts_with("GPU-")).then(name) for name in _GPU_ID)
    node = pl.when(pl.col("metric").str.starts_with(_SLURM)).then("name")
    telegraf = pl.col("metric").str.starts_with(_TELEGRAF)
    wide = wide.with_columns(
        gpu=pl.coalesce("gpu", pl.when(telegraf).then("index")),
        modelName=pl.coalesce("modelName", pl.when(telegraf).then("name")),
    )
    gpu = uuid.fill_null(pl.when(dcgm | pl.col("gpu").str.contains(r"^\d{1,3}$")).then("gpu"))
    return (
        wide.with_columns(
            host=pl.coalesce(*_NODE, node, written, pl.lit(nodename, pl.String), pl.lit(host, pl.String)),
            address=address,
            uuid=uuid,
            gpu_name=gpu,
        )
        .with_columns(_device())
        .with_columns(_parent())
    )


def _device() -> list[pl.Expr]:
    """Give the kind and the name of the device: the first rule that fits holds."""
    metric, device, nvlink, switch, gpu = (
        pl.col(name) for name in ("metric", "device", "nvlink", "nvswitch", "gpu_name")
    )
    colon, slash, known = pl.lit(":"), pl.lit("/"), pl.col("device").is_not_null()
    slice_id, port = pl.col("GPU_I_ID"), pl.col("port")
    fabric = (metric.str.starts_with("node_infiniband_") & known) | device.str.contains(_HCA)
    network = metric.str.contains("^node_(?:network|ethtool)_") & known
    rules = (
        (switch.is_not_null() & nvlink.is_not_null(), "link", pl.concat_str(switch, colon, nvlink)),
        (switch.is_not_null(), "nvswitch", switch),
        (gpu.is_not_null() & nvlink.is_not_null(), "link", pl.concat_str(gpu, colon, nvlink)),
        (gpu.is_not_null() & slice_id.is_not_null(), "gpu_instance", pl.concat_str(gpu, colon, slice_id)),
        (gpu.is_not_null(), "gpu", gpu),
        (fabric & port.is_not_null(), "port", pl.concat_str(device, slash, port)),
        (fabric | network, "nic", device),
        (metric.str.starts_with("node_disk_") & known, "disk", device),
    )
    return [
        pl.coalesce(*(pl.when(test).then(pl.lit(kind)) for test, kind, _ in rules), pl.lit("host")).alias(
            "device_kind"
        ),
        pl.coalesce(*(pl.when(test).then(name) for test, _, name in rules)).alias("device"),
        device.alias("device_label"),
    ]


def _parent() -> list[pl.Expr]:
    """Give what a part lies in: a link in its switch or GPU, a slice in its GPU, a port in its NIC."""
    kind, of_switch = pl.col("device_kind"), pl.col("nvswitch").is_not_null()
    within = (
        ((kind == "link") & of_switch, "nvswitch", "nvswitch"),
        (kind.is_in(["link", "gpu_instance"]), "gpu", "gpu_name"),
        (kind == "port", "nic", "device_label"),
    )
    return [
        pl.coalesce(pl.when(test).then(pl.lit(parent)) for test, parent, _ in within).alias("parent_kind"),
        pl.coalesce(pl.when(test).then(name) for test, _, name in within).alias("parent"),
    ]


def label_json(who: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Give ``id`` and ``labels``: what is left of the labels of a series, as canonical JSON.

    A label goes where it became the host, the device, or an attribute of the device.
    """
    used = labels.join(who.select("id", "metric", "host", "address", "device_kind", "gpu_name"), on="id")
    label, value = pl.col("label"), pl.col("value")
    kind = pl.col("device_kind")
    of_gpu = pl.col("gpu_name").is_not_null() & (label.is_in(_OF_GPU) | label.str.starts_with("DCGM_FI_"))
    telegraf = pl.col("metric").str.starts_with(_TELEGRAF) & label.is_in(_OF_TELEGRAF)
    slurm = pl.col("metric").str.starts_with(_SLURM) & (label == "name") & (value == pl.col("host"))
    gone = (
        (value == "")  # the same as no label
        | (label.is_in(_NODE) & (value == pl.col("host")))
        | (label.is_in(_HOST) & (value == pl.col("host")))
        | ((label == "instance") & (pl.col("address") == pl.col("host")))
        | of_gpu
        | slurm
        | (telegraf & pl.col("gpu_name").is_not_null())
        | (kind.is_in(["nvswitch", "link"]) & label.is_in(_OF_SWITCH))
        | (kind.is_in(["nic", "disk"]) & (label == "device"))
        | ((kind == "port") & label.is_in(["device", "port"]))
    )
    left = used.filter(~gone.fill_null(value=False)).select("id", "label", "value")
    names = left["label"].unique().sort().to_list()
    if len(names) > _MANY_LABELS:
        told = left.sort("id", "label").select(
            "id", pair=pl.concat_str(json_text(label), pl.lit(":"), json_text(value))
        )
        objects = told.group_by("id").agg(pl.col("pair").str.join(","))
        return objects.select("id", labels=pl.concat_str(pl.lit("{"), pl.col("pair"), pl.lit("}")))
    places = {name: str(place) for place, name in enumerate(names)}  # a label may be called id
    numbered = left.with_columns(label.replace_strict(places, return_dtype=pl.String))
    wide = (
        numbered.pivot("label", index="id", values="value", aggregate_function="first") if names else left.select("id")
    )
    pairs = [
        pl.concat_str(pl.lit(f"{json.dumps(name, ensure_ascii=False)}:"), json_text(pl.col(place)))
        for name, place in places.items()
    ]
    inner = pl.concat_str(pairs, separator=",", ignore_nulls=True) if pairs else pl.lit("")
    return wide.select("id", labels=pl.concat_str(pl.lit("{"), inner, pl.lit("}")))


def entity_rows(who: pl.DataFrame) -> pl.DataFrame:
    """Give what the labels tell of GPUs and their slices: index, address, model, driver, profile."""
    gpus = who.filter(pl.col("device_kind").is_in(["gpu", "gpu_instance"]) & pl.col("host").is_not_null())
    told = {
        "index": pl.col("gpu"),
        "pci": normal_pci_column(pl.col("pci_bus_id")),
        "model": pl.col("modelName"),
        "driver_version": pl.col("DCGM_FI_DRIVER_VERSION"),
        "profile": pl.col("GPU_I_PROFILE"),
    }
    key = ["host", "device_kind", "device"]
    written = ["gpu", "pci_bus_id", "modelName", "DCGM_FI_DRIVER_VERSION", "GPU_I_PROFILE"]
    facts = (
        gpus.select(*key, *written)
        .unique(maintain_order=True)
        .select(*key, **told)
        .group_by(key, maintain_order=True)
        .agg(pl.col(list(told)).drop_nulls().first())
    )
    never = pl.lit(None, frames.TS)
    return facts.select(
        *key, json_object(dict.fromkeys(told, pl.String())).alias("attributes"), valid_from=never, valid_to=never
    ).cast(frames.ENTITIES)


def alias_rows(who: pl.DataFrame) -> pl.DataFrame:
    """Give the other names of GPUs whose UUID is known, with the span in which they were seen.

    Parameters
    ----------
    who : polars.DataFrame
        Also ``low`` and ``high``: the first and last time of each series.
    """
    whole = ["host", "uuid", "gpu", "pci_bus_id", "device_label"]
    known = who.filter(pl.col("uuid").is_not_null() & pl.col("host").is_not_null())
    known = known.group_by(whole, maintain_order=True).agg(pl.col("low").min(), pl.col("high").max())
    names = {
        "label gpu": pl.col("gpu"),
        "label pci_bus_id": normal_pci_column(pl.col("pci_bus_id")),
        "label device": pl.when(pl.col("device_label").str.starts_with("nvidia")).then("device_label"),
    }
    parts = [
        known.select(
            "host",
            pl.lit("gpu").alias("device_kind"),
            name.alias("device"),
            "low",
            "high",
            same_as="uuid",
            rule=pl.lit(rule),
        )
        for rule, name in names.items()
    ]
    pairs = pl.concat(parts).filter(pl.col("device").is_not_null())
    spans = pairs.group_by("host", "device_kind", "device", "same_as", "rule", maintain_order=True).agg(
        valid_from=pl.col("low").min().cast(frames.TS), valid_to=pl.col("high").max().cast(frames.TS)
    )
    return spans.select(frames.ALIASES.names()).cast(frames.ALIASES)


def link_rows(who: pl.DataFrame) -> pl.DataFrame:
    """Give the parts that lie in a device: slices in GPUs, links in GPUs or switches, ports in NICs."""
    parts = who.filter(pl.col("parent").is_not_null() & pl.col("host").is_not_null())
    return (
        parts.select(
            "host",
            "device_kind",
            "device",
            pl.lit("in").alias("relation"),
            pl.col("host").alias("to_host"),
            pl.col("parent_kind").alias("to_kind"),
            pl.col("parent").alias("to_device"),
            pl.lit(None, frames.TS).alias("valid_from"),
            pl.lit(None, frames.TS).alias("valid_to"),
        )
        .unique(maintain_order=True)
        .cast(frames.LINKS)
    )
