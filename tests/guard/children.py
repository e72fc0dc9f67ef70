"""Jobs in forked children of a warm process, a few at a time.

torch is imported once, with one thread: forking after its thread pool has started hangs children,
and a hang must not look like a kill.
"""

import gc
import importlib
import json
import math
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Job = Callable[[Path], dict]  # gets a folder of its own, which need not exist yet


def warm_up(modules: Iterable[str] = ()) -> None:
    """Import what every child needs, and see that there is still one thread to fork."""
    import torch

    torch.set_num_threads(1)
    for name in ("pytest", "numpy", "torch._dynamo", "torch.export", *modules):
        importlib.import_module(name)
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    if threads > 1:
        raise RuntimeError(f"cannot fork {threads} threads; set OMP_NUM_THREADS=1")
    gc.collect()
    gc.freeze()  # what is here now stays: no child need look at it again


def run_children(
    jobs: Iterable[tuple[str, Job]], timeout: float, cpu: float | None = None
) -> Iterator[tuple[str, dict]]:
    """(name, what the job returned) as they end; its "status" is "timeout" or "crashed" if it
    returned nothing. "seconds" passed meanwhile, of which the child had "cpu" of a processor.

    `timeout`: seconds that may pass; `cpu`: those of a processor, the same on a busy machine."""
    with tempfile.TemporaryDirectory() as home:
        waiting = enumerate(jobs)
        running: dict[int, tuple[str, Path, float]] = {}
        more = True
        while more or running:
            while more and len(running) < (os.cpu_count() or 1):
                index, (name, job) = next(waiting, (0, ("", None)))
                more = job is not None
                if more:
                    folder = Path(home) / str(index)
                    running[start(job, folder, cpu)] = (name, folder, time.monotonic())
            time.sleep(0.01)
            for pid, (name, folder, began) in list(running.items()):
                late = time.monotonic() - began > timeout
                if late:
                    os.kill(pid, signal.SIGKILL)
                ended, status, usage = os.wait4(pid, 0 if late else os.WNOHANG)
                if ended:
                    del running[pid]
                    late = late or os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
                    used = round(usage.ru_utime + usage.ru_stime, 2)
                    seconds = round(time.monotonic() - began, 1)
                    yield name, collect(folder, late) | {"seconds": seconds, "cpu": used}


def collect(folder: Path, late: bool) -> dict:
    path = folder / "result.json"
    result = {"status": "timeout" if late else "crashed", "tests": []}
    if not late and path.is_file():
        result = json.loads(path.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    return result


def start(job: Job, folder: Path, cpu: float | None) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        if cpu is not None:
            limit = math.ceil(cpu)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))  # then SIGXCPU
        log = os.open(os.devnull, os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            result = job(folder)
        except BaseException as error:
            result = {"status": f"crashed ({type(error).__name__}: {error})", "tests": []}
        folder.mkdir(exist_ok=True)
        (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    finally:
        os._exit(0)
