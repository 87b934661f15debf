"""Settings for clusters of Dask."""

from __future__ import annotations

#: Settings of Dask under which its own housekeeping costs little: no sampling profiler in workers, ticks and monitors once in a second or ten. Workers of
#: simulations hold no data and need none of these. To be used where workers are started: ``with dask.config.set(wormcast.DASK_SETTINGS): LocalCluster(…)``.
DASK_SETTINGS: dict[str, object] = {
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "30s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
