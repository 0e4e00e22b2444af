"""Shardings of `cornerturn.jax` on several devices: each device permutes its own shard, and nothing is gathered.

JAX divides a program by one of two partitioners, Shardy or GSPMD. Both know XLA's operations, but not a custom call.
Shardy propagates shardings through the call by the rule that `rule` returns. GSPMD asks `_inferred` and `_kept`. Then XLA
asks `_partition` for the call on one shard, for both. These interfaces are not public in JAX. If a version of JAX lacks
them, `present` is False, and `cornerturn.jax` lets XLA itself transpose on several devices.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy

try:
    from jax._src import xla_bridge
    from jax._src.lib import xla_client
    from jaxlib.mlir.dialects import sdy
    _HloSharding = xla_client.HloSharding
    present = bool(jax.__version_info__ >= (0, 7, 2))  # the oldest version for which the tests of shardings pass
except (ImportError, AttributeError):
    present = False


def rule(shape: Sequence[int], axes: Sequence[int]) -> Any:
    """Return Shardy's rule: axis ``k`` of the result is sharded as axis ``axes[k]`` of the operand."""
    def mapping(of: Sequence[int]) -> Any:
        return sdy.TensorMappingAttr.get(dim_mappings=[sdy.DimMappingAttr.get(factor_indices=[k]) for k in of])

    return sdy.OpShardingRuleAttr.get(factor_sizes=list(shape), operand_mappings=[mapping(range(len(shape)))],
                                      result_mappings=[mapping(axes)], is_custom=True)


def _permuted(sharding: Any, axes: Sequence[int]) -> Any:
    if sharding is None:  # not known yet
        return _HloSharding.replicate()
    if not sharding.is_tiled():  # replicated, manual or on one device: equal for all axes
        return sharding
    extents = sharding.tile_assignment_dimensions()  # of the axes, then of groups of devices with equal shards
    devices = numpy.array(sharding.tile_assignment_devices(), dtype=numpy.int64).reshape(extents)
    groups = list(sharding.subgroup_types())
    if not groups and sharding.replicate_on_last_tile_dim():
        groups = [xla_client.OpSharding.Type.REPLICATED]
    order = (*axes, *range(len(axes), len(extents)))
    return _HloSharding.subgroup_with_device_ordering(numpy.ascontiguousarray(devices.transpose(order)), groups)


def _axes_of(config: Any, shapes: Sequence[Any], made: Any) -> tuple[int, ...] | None:
    """Return the axes in the attributes of a call, as in ``{axes = dense<[1, 0]> : tensor<2xi64>}``.

    Any program can make such a call. The result is None unless the axes permute the only operand to the only result.
    """
    if len(shapes) != 1 or made.is_tuple():
        return None
    found = re.search(r"axes = (?:dense<\[?|array<i64:?)([-\d, ]*)", _text(config))
    axes = tuple(int(one) for one in found[1].split(",") if one.strip()) if found else ()
    extents = shapes[0].dimensions()
    if sorted(axes) != list(range(len(extents))) or tuple(made.dimensions()) != tuple(extents[k] for k in axes):
        return None
    return axes


def _text(config: Any) -> str:
    return config.decode() if isinstance(config, bytes) else str(config)


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(axes.index(k) for k in range(len(axes)))


def _element_type(dtype: Any) -> str:
    """Return MLIR's name of an element type of whole bytes."""
    name = str(numpy.dtype(dtype).name)
    if name == "bool":
        return "i1"
    if name.startswith("complex"):
        return f"complex<f{int(name[len('complex'):]) // 2}>"
    if name.startswith("float8_"):
        return "f8" + name[len("float8_"):].upper()
    return name.replace("uint", "ui").replace("int", "i").replace("bfloat", "bf").replace("float", "f")


def _call(target: str, shape: Sequence[int], axes: Sequence[int], dtype: Any, config: str) -> bytes:
    """Return a module of StableHLO with the call on one shard."""
    def tensor(extents: Sequence[int]) -> str:
        return f"tensor<{'x'.join([*map(str, extents), _element_type(dtype)])}>"

    layout = f"dense<{list(reversed(range(len(shape)))) or ''}> : tensor<{len(shape)}xindex>"
    source, made = tensor(shape), tensor([shape[k] for k in axes])
    text = f"""module {{
  func.func public @main(%x: {source}) -> {made} {{
    %y = stablehlo.custom_call @{target}(%x) {{api_version = 4 : i32, backend_config = {config},
      operand_layouts = [{layout}], result_layouts = [{layout}]}} : ({source}) -> {made}
    return %y : {made}
  }}
}}"""
    return text.encode()


def _partition(target: str, shapes: Sequence[Any], shardings: Sequence[Any], result_shape: Any, result: Any,
               config: Any) -> tuple[bytes, list[Any], Any]:
    axes = _axes_of(config, shapes, result_shape)
    if axes is None:
        raise ValueError(f"cornerturn: {target} has {len(shapes)} operands and the attributes {_text(config):.200}. Wanted: one "
                         "operand, and one result with its axes permuted")
    operand = _permuted(result, _inverse(axes))  # XLA's own transpose follows the result too
    local = operand.tile(shapes[0]).dimensions()
    return _call(target, local, axes, result_shape.numpy_dtype(), _text(config)), [operand], result


def _inferred(shapes: Sequence[Any], shardings: Sequence[Any], result_shape: Any, config: Any) -> Any:
    axes = _axes_of(config, shapes, result_shape)
    if axes is not None:
        return _permuted(shardings[0], axes)
    # An exception would end the process here. _partition refuses the call.
    if not result_shape.is_tuple():
        return _HloSharding.replicate()
    return _HloSharding.tuple_sharding(result_shape, [_HloSharding.replicate() for _ in result_shape.tuple_shapes()])


def _kept(sharding: Any, shape: Any, config: Any) -> Any:
    return sharding


def register(target: str) -> None:
    """Tell XLA how to divide the calls of this FFI target."""
    if not present:
        return
    tell = functools.partial(xla_client.register_custom_call_partitioner, target, _kept,
                             functools.partial(_partition, target), _inferred)
    tell()
    xla_bridge.register_plugin_callbacks(tell)  # the CUDA plugin has its own XLA
