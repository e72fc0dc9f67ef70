"""Run one function in several processes, or stop with an error: nothing may hang."""

import multiprocessing
import time

import torch.multiprocessing as torch_multiprocessing


def run_processes(work, n_processes: int, *args, seconds: float = 60.0) -> None:
    """work(rank, n_processes, *args) in each process; all must end within `seconds`.

    An error in one process ends the others and is raised here.
    """
    # The server imports torch once; each process is a copy of it, not of this one.
    multiprocessing.set_forkserver_preload(["torch"])
    running = torch_multiprocessing.start_processes(
        work, (n_processes, *args), n_processes, join=False, start_method="forkserver"
    )
    end = time.monotonic() + seconds
    while not running.join(timeout=max(0.0, end - time.monotonic())):
        if time.monotonic() >= end:
            for process in running.processes:
                process.kill()
                process.join()
            raise TimeoutError(f"{n_processes} processes did not all end within {seconds} s")
