"""Measures what an algorithm in Python costs a message: `separate`, built in and in Python, in the same runs.

    python measure/algorithm.py
"""

import time

import wormcast as wc

MESSAGES = 100_000


@wc.algorithm("separate-in-python", routing="e-cube", promise="unicasts")
def separate(network, source, destinations):
    """A worm for each destination."""
    return [[node] for node in destinations]


def seconds(algorithm: str, destinations: int) -> float:
    """The least time of five runs."""
    settings = {
        "topology": "mesh:16x16",
        "algorithm": algorithm,
        "traffic.arrivals": {"process": "poisson", "rate": 0.0001},
        "traffic.length": 1,
        "traffic.multicast.destinations": destinations,
        "run": {"messages": MESSAGES, "warmup": 0},
    }
    experiment = wc.Experiment(settings, algorithms=[separate])
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        experiment.simulate()
        times.append(time.perf_counter() - begun)
    return min(times)


print("| destinations | built in, µs a message | in Python, µs a message | difference |\n|---|---|---|---|")
for count in (1, 10, 100):
    built_in, own = (1e6 * seconds(name, count) / MESSAGES for name in ("separate", "separate-in-python"))
    print(f"| {count} | {built_in:.1f} | {own:.1f} | {own - built_in:.1f} |")
