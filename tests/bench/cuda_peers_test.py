"""The host side of bench/cuda_peers.py, with a framework on Python lists: it needs no GPU and no packages."""
import itertools
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import cuda_frameworks  # noqa: E402
import cuda_peers  # noqa: E402


def case(extents, axes, element_bytes=4, src_strides=None, dst_strides=None, name="odd/x", hot=False,
         shift_bytes=(0, 0)):
    dst = [extents[axis] for axis in axes]
    size = element_bytes
    for extent in extents:
        size *= extent
    return cuda_peers.Task({"name": name, "set": name.split("/")[0], "hot": hot, "bytes": size, "extents": extents,
                            "axes": axes, "element_bytes": element_bytes, "shift_bytes": shift_bytes,
                            "src_strides": src_strides or cuda_peers.packed(extents),
                            "dst_strides": dst_strides or cuda_peers.packed(dst)})


class Lists:
    """Mimics cuda_frameworks.Torch on lists. Its clock advances by 1 ms a call; `spoil` makes wrong results."""
    name, version, method, has_strides = "lists", "1", "a loop", True
    l2_bytes = 1 << 10

    def __init__(self, spoil=False, has_strides=True):
        self.spoil, self.has_strides, self.now, self.log = spoil, has_strides, 0.0, []
        self.arena_size = 1 << 30

    def free_bytes(self):
        return 1 << 30

    def flat_source(self, task, i):
        return [1000 * i + at for at in range(task.src_span)]

    def source(self, task, i):
        return self.flat_source(task, i)

    def destination(self, task):
        return [-1] * task.dst_span

    def prepare(self, task, pairs):
        return cuda_frameworks.EventWork(self, task, pairs)

    def made(self, task, src, results, k):
        results[k] = self.destination(task)
        self.into(task, src, results, k)

    def into(self, task, src, results, k):
        self.now += 1e-3
        self.log.append(k)
        for index in itertools.product(*map(range, task.dst_extents)):
            at = sum(i * s for i, s in zip(index, task.dst_strides))
            results[k][at] = src[sum(i * task.src_strides[axis] for i, axis in zip(index, task.axes))]
        if self.spoil:
            results[k][-1] += 1

    @staticmethod
    def captured(call, calls):
        return lambda: [call() for _ in range(calls)]

    def mark(self):
        return self.now

    @staticmethod
    def seconds(begin, end):
        return end - begin

    def lead(self):
        self.log.append("lead")

    def wait(self):
        pass

    def words(self, array, task, offsets):
        return [array[at] for at in offsets]

    def free(self):
        pass

    def close(self):
        self.log.append("closed")


class Tasks(unittest.TestCase):
    def test_odd_elements_become_one_more_axis(self):
        task = case([5, 7], [1, 0], element_bytes=12)
        self.assertEqual((task.word, task.extents, task.axes), (4, [5, 7, 3], [1, 0, 2]))
        self.assertEqual((task.src_strides, task.dst_strides), ([21, 3, 1], [15, 3, 1]))
        self.assertTrue(task.is_packed)
        self.assertEqual(case([5, 7], [1, 0], element_bytes=40).word, 8)
        self.assertEqual(case([5, 7], [1, 0], element_bytes=16).extents, [5, 7])

    def test_padding_is_seen(self):
        task = case([5, 7], [1, 0], src_strides=[8, 1], dst_strides=[9, 1])
        self.assertFalse(task.is_packed)
        self.assertEqual((task.src_span, task.dst_span), (4 * 8 + 7, 6 * 9 + 5))

    def test_places_are_those_of_a_transpose(self):
        self.assertEqual(case([2, 3], [1, 0]).places, [(0, 0), (3, 1), (1, 2), (4, 3), (2, 4), (5, 5)])
        many = case([1000, 1000], [1, 0]).places
        self.assertEqual(len(many), cuda_peers.SOME_PLACES)
        self.assertTrue(all(src == dst % 1000 * 1000 + dst // 1000 for src, dst in many))
        self.assertIn((999999, 999999), many)

    def test_words_of_16_bytes_are_two(self):
        self.assertEqual(cuda_frameworks.halves(case([2, 2], [1, 0], element_bytes=16), [0, 3]), [0, 1, 6, 7])

    def test_pairs(self):
        task = case([1000, 1000], [1, 0])
        self.assertEqual(cuda_peers.wanted_pairs(task, 1 << 20, 1 << 40), 3)
        self.assertEqual(cuda_peers.wanted_pairs(task, 20 << 20, 1 << 40), 12)
        self.assertEqual(cuda_peers.wanted_pairs(task, 1 << 20, 1 << 20), 0)
        self.assertEqual(cuda_peers.wanted_pairs(case([8, 8], [1, 0], hot=True), 1 << 20, 1 << 40), 1)

    def test_sets_go_round(self):
        tasks = [case([2, 2], [1, 0], name=name) for name in ("a/1", "a/2", "a/3", "b/1", "c/1", "c/2")]
        self.assertEqual([task.name for task in cuda_peers.round_the_sets(tasks)],
                         ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"])


class Measuring(unittest.TestCase):
    def test_a_row(self):
        for task in (case([5, 7], [1, 0]), case([3, 4, 5], [1, 2, 0], element_bytes=6),
                     case([5, 7], [1, 0], src_strides=[8, 1], dst_strides=[6, 1])):
            framework = Lists()
            row = cuda_peers.measure(task, framework, 5)
            self.assertTrue(row["verified"])
            self.assertEqual((row["samples"], row["threads"], row["calls_per_sample"]), (5, 0, 1))
            self.assertAlmostEqual(row["ns"]["median"], 1e6, 3)
            self.assertAlmostEqual(row["gb_s"]["median"], 2 * task.bytes / 1e-3 / 1e9)
            calls = [k for k in framework.log if k != "lead"]
            self.assertEqual(calls, [i % row["pairs"] for i in range(len(calls))], "cold: the pairs rotate")

    def test_hot_cases_are_graphs_on_one_pair(self):
        framework = Lists()
        row = cuda_peers.measure(case([8, 8], [1, 0], hot=True), framework, 5)
        self.assertEqual((row["pairs"], row["calls_per_sample"]), (1, 200))
        self.assertAlmostEqual(row["ns"]["median"], 1e6, 3)

    def test_a_wrong_result_is_seen(self):
        self.assertFalse(cuda_peers.measure(case([5, 7], [1, 0]), Lists(spoil=True), 5)["verified"])

    def test_no_strides(self):
        rows, left_out = cuda_peers.run(Lists(has_strides=False),
                                        [case([5, 7], [1, 0]), case([5, 7], [1, 0], src_strides=[8, 1], name="odd/ld")],
                                        3, 1e9, say=lambda text: None)
        self.assertEqual([row["name"] for row in rows], ["odd/x"])
        self.assertEqual(left_out, {"odd/ld": "it has no strides"})

    def test_what_frameworks_do_not_do(self):
        whole = "it returns the array itself, which has this order already"
        for task, reason in ((case([5, 7], [1, 0], name="random_in_place/x"), "it does not work in place"),
                             (case([5, 7], [1, 0], shift_bytes=(3, 0)), "its arrays begin at other addresses"),
                             (case([5, 7], [0, 1]), whole), (case([1, 7], [1, 0]), whole),
                             (case([5, 7], [0, 1], src_strides=[8, 1]), None), (case([5, 7], [1, 0]), None)):
            self.assertEqual(task.beyond, reason)
            self.assertEqual(cuda_peers.run(Lists(), [task], 3, 1e9, say=lambda text: None)[1],
                             {task.name: reason} if reason else {})


class Running(unittest.TestCase):
    def run_all(self, makers, tasks, seconds, clock=lambda: 0.0):
        given = types.SimpleNamespace(seconds=seconds, rounds=3)
        return cuda_peers.run_all(makers, tasks, given, clock=clock, say=lambda text: None)

    def test_the_absent_are_named_and_the_others_run(self):
        def absent():
            raise ImportError("No module named 'torch'")
        results, missing = self.run_all([("pytorch", absent), ("lists", Lists)], [case([5, 7], [1, 0])], 90)
        self.assertEqual(missing, {"pytorch": "ImportError: No module named 'torch'"})
        self.assertEqual([(one["peer"], len(one["cases"]), one["left_out"]) for one in results], [("lists", 1, {})])

    def test_a_failing_case_does_not_end_the_run(self):
        class Failing(Lists):
            def made(self, task, src, results, k):
                if task.name == "b/1":
                    raise MemoryError("out of memory\nmore of it")
                super().made(task, src, results, k)
        tasks = [case([2, 3], [1, 0], name=name) for name in ("a/1", "b/1", "a/2")]
        results, _ = self.run_all([("lists", Failing)], tasks, 90)
        self.assertEqual([row["name"] for row in results[0]["cases"]], ["a/1", "a/2"])
        self.assertEqual(results[0]["left_out"], {"b/1": "MemoryError: out of memory"})

    def test_time_ends_it_and_is_shared(self):
        now = [0.0]

        class Slow(Lists):
            def prepare(self, task, pairs):
                now[0] += 1
                return super().prepare(task, pairs)
        tasks = [case([2, 3], [1, 0], name=f"a/{i}") for i in range(70)]
        quick = ("quick", Lists)
        results, _ = self.run_all([("one", Slow), ("two", Slow)], tasks, 90, lambda: now[0])
        self.assertEqual([len(one["cases"]) for one in results], [45, 45])
        self.assertEqual(set(results[0]["left_out"].values()), {"time"})
        now[0] = 0.0
        results, _ = self.run_all([quick, ("two", Slow)], tasks, 60, lambda: now[0])
        self.assertEqual([len(one["cases"]) for one in results], [70, 60], "unused time is left for the next framework")


if __name__ == "__main__":
    unittest.main()
