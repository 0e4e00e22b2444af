"""Reads the result files of `cornerturn bench` and of merge.py."""
import json
import math
import sys

PEERS = {"cublas_geam": "cuBLAS", "cutensor": "cuTENSOR", "cutensor_jit": "cuTENSOR JIT", "jax": "JAX",
         "pytorch": "PyTorch", "cupy": "CuPy", "openblas_omatcopy": "OpenBLAS", "onednn_reorder": "oneDNN",
         "hptt_estimate": "HPTT", "fftw_estimate": "FFTW", "fftw_measure": "FFTW", "eigen_matrix": "Eigen",
         "eigen_shuffle": "Eigen", "textbook_tile": "textbook tile", "element_a_thread": "one element a thread",
         "loop_dst_order": "loop in the order of dst", "loop_src_order": "loop in the order of src", "loop_blocks": "loop in blocks"}


def load(path):
    """The block `cornerturn` of a result file, with its date."""
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    own = whole.get("cornerturn")
    if not own:
        sys.exit(f"{path}: no block `cornerturn`: not a result file of this bench")
    if own["format"][0] != 1:
        sys.exit(f"{path}: format {own['format']}: this script reads format 1")
    return {**own, "date": whole["context"]["date"][:10]}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values and min(values) > 0 else 0.0


def gb_s(case, role, name=None):
    """GB/s of the fastest correct contender of a role, or of the one with this name; 0 without one."""
    return max((one["gb_s"]["median"] for one in case["contenders"]
                if one["role"] == role and one.get("verified", True) and name in (None, one["name"])), default=0)


def share(case):
    return case["share"]["median"]


class Beside:
    """One peer over the cases in which both results are correct: geometric means of shares of the copy."""

    def __init__(self, cases, name):
        both = [(gb_s(case, "peer", name), gb_s(case, "ours"), gb_s(case, "roof")) for case in cases]
        both = [each for each in both if min(each) > 0]
        self.name, self.cases = name, len(both)
        self.theirs = geometric_mean([peer / roof for peer, _, roof in both])
        self.ours = geometric_mean([ours / roof for _, ours, roof in both])
        self.faster = geometric_mean([ours / peer for peer, ours, _ in both])


def peers_of(cases):
    """Every peer that was measured in these cases; the fastest one first."""
    names = dict.fromkeys(one["name"] for case in cases for one in case["contenders"] if one["role"] == "peer")
    found = [Beside(cases, name) for name in names]
    return sorted((one for one in found if one.cases), key=lambda one: -one.theirs)
