"""Arrays of Zarr in local files, whose chunks are read, decoded, encoded and written by the thread that asks for them."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class ThreadLoop(asyncio.SelectorEventLoop):
    """An event loop without other threads: what a coroutine gives to an executor runs at once.

    Zarr gives each step of each chunk to a pool of threads. The switches between threads cost more than a small chunk.
    """

    def run_in_executor(  # type: ignore[override]  # Python 3.10 has no TypeVarTuple
            self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        done.set_result(func(*args))
        return done

    def close(self) -> None:
        """End the tasks that an exception has left, and close the loop. Otherwise asyncio prints a line for each of them."""
        left = asyncio.all_tasks(self)
        for task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        super().close()


class ThreadArray:
    """An array of Zarr for one thread, which has a `ThreadLoop`."""

    def __init__(self, array: Any, loop: ThreadLoop) -> None:
        self._array, self._loop = array.async_array, loop

    def __getitem__(self, box: Any) -> Any:
        return self._loop.run_until_complete(self._array.getitem(box))

    def __setitem__(self, box: Any, value: Any) -> None:
        self._loop.run_until_complete(self._array.setitem(box, value))
