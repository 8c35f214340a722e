"""How many bytes go over the wire, headers included, next to the payloads that the report counts?

    python -m benchmarks.neural.compress.wire [--workers 2 4]

Processes train small networks with DistributedDataParallel and gloo in a network of their own (`unshare --net`, which
needs the right to make one); the loopback's counter gives the bytes of all frames. `payload` and `wire` are bits
received a number by a worker; `estimate` is the report's `wire`. `more` are the bytes a message beyond its payload.
The loopback's frames hold 64 KiB; on Ethernet a frame of 1,448 bytes of payload has 66 or more bytes of headers, about
5 % more. Rows go to results/compress_wire.csv.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions

KEY = ("scheme", "workers", "numbers", "bucket_kb")
COLUMNS = (*KEY, "messages", "payload", "wire", "estimate", "more", "versions")
SCHEMES: dict[str, dict[str, Any]] = {"none": {}, "topk": {"keep": 0.01}, "shared-topk": {}, "powersgd": {}, "qsgd": {}}
NETWORKS = ((256, 50), (256, 1000), (1000, 25_000))  # width of two layers, and KiB a bucket
STEPS = 40
ALONE = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "alone"]
LOOPBACK = Path("/proc/net/dev")


def main() -> None:
    given = script.parser(__doc__, "compress_wire.csv", "two workers, one network and scheme")
    given.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    given.add_argument("--schemes", nargs="+", default=list(SCHEMES), choices=list(SCHEMES))
    arguments = script.parsed(given, workers=[2], schemes=["topk"])
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        raise SystemExit("wire: needs the right to make a network: unshare --net")
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    networks = NETWORKS[:1] if arguments.smoke else NETWORKS
    for row in rows(sheet, arguments.schemes, arguments.workers, networks):
        sheet.record(row)


def rows(sheet: Sheet, schemes: list[str], workers: list[int], networks: tuple[tuple[int, int], ...]) -> Iterator[Row]:
    """Yield the rows that are not there yet."""
    wanted = ((s, w, 2 * (width * width + width), kb) for w in workers for width, kb in networks for s in schemes)
    widths = {2 * (width * width + width): width for width, _ in networks}
    for scheme, size, numbers, kb in sheet.missing(wanted):
        call = [sys.executable, "-m", __spec__.name, "train", scheme, str(size), str(widths[numbers]), str(kb)]
        done = subprocess.run([*ALONE, *call], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        wire = 8 * found["bytes"] / size / numbers
        more = (wire - found["payload"]) * numbers / 8 / found["messages"]
        yield {
            "scheme": scheme, "workers": size, "numbers": numbers, "bucket_kb": kb,
            "messages": f"{found['messages']:g}", "payload": f"{found['payload']:.3g}", "wire": f"{wire:.3g}",
            "estimate": f"{found['estimate']:.3g}", "more": f"{more:.0f}", "versions": versions(("torch", "lamcts")),
        }  # fmt: skip


def train(rank: int, scheme: str, size: int, width: int, kb: int, port: int) -> None:
    """Train as one worker; the first prints the bytes, messages and bits of a step."""
    import torch
    import torch.distributed as dist

    from lamcts.neural import compress
    from lamcts.neural.compress.state import HEADERS

    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, width))
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=kb / 1024)
    state, hook = compress.hook(scheme, **SCHEMES[scheme])
    model.register_comm_hook(state, hook)
    readings = []
    for _ in range(2):  # the first rounds set up connections and buckets
        for _ in range(STEPS):
            model(torch.randn(4, width)).square().mean().backward()
        dist.barrier()
        readings.append(loopback())
        dist.barrier()
    if rank == 0:
        report, numbers = state.report(), sum(one.numel() for one in net.parameters())
        messages = (report.wire - report.bits) * numbers / 8 / HEADERS
        found = {"bytes": (readings[1] - readings[0]) / STEPS, "messages": messages}
        print(json.dumps(found | {"payload": report.bits, "estimate": report.wire}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def loopback() -> int:
    """Return the bytes that the loopback has received."""
    line = next(one for one in LOOPBACK.read_text().splitlines() if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        import torch.multiprocessing

        scheme, size, width, kb = sys.argv[2], *map(int, sys.argv[3:6])
        torch.multiprocessing.spawn(train, (scheme, size, width, kb, 29_500), nprocs=size)
    else:
        main()
