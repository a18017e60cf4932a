"""Pictures read from a slow medium through a cache that holds most of them; decoding needs several
cores; the GPU throttles nothing.

After the paper's 5.1.1, 5.1.5 and 5.2.

Written from the paper before its author had read the model's code or the other laws.
"""


def time_s(mode):
    return _stages_s(mode)[0]


def power_w(mode):
    total, decode, device, read = _stages_s(mode)
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    cores = mode["cores"]
    running = min(float(cores), decode / total)
    cpu_w = (0.35 + 0.95 * running) * cpu ** (1.0 if cpu < 0.8 else 2.1) * (
        1.0 if cpu < 0.8 else 0.8**-1.1
    ) + 0.2 * cores
    gpu_w = (0.5 + 10.5 * device / total) * gpu * (0.36 + 0.52 * gpu**2)
    return 4.1 + cpu_w + gpu_w + 1.05 * memory**0.8 + 0.7 * read / total


def _stages_s(mode):
    """Seconds of an epoch, of core time for decoding, of the GPU, and of reading."""
    cpu, gpu, memory = (mode[name] / 1000 for name in ("cpu_mhz", "gpu_mhz", "emc_mhz"))
    cores = mode["cores"]
    read = 21.0 + 3.0 / cpu
    decode = 150.0 / cpu + 14.0 / memory
    workers = 4 * cores / (cores + 1.2)
    loading = max(read, decode / workers) + 0.2 * min(read, decode / workers)
    device = max(38.0 / gpu, 24.0 / memory) + 5.0 / cpu
    slower, faster = max(loading, device), min(loading, device)
    return slower + 0.08 * faster, decode, device, read
