"""What runs and sweeps have found."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from wormcast import _native
from wormcast._nodes import counted, file_text, needing, written


class Table:
    """A table that other libraries take without a copy, by the Arrow PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)``."""

    __slots__ = ("_table",)

    def __init__(self, native: _native.Table) -> None:
        self._table = native

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._table.column_names

    def __len__(self) -> int:
        return self._table.num_rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a capsule with an Arrow stream. Its memory is shared. The schema is not converted."""
        return self._table.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """As a ``pyarrow.Table``."""
        with needing("frames"):
            import pyarrow as pa

        return pa.table(self)

    def to_pandas(self) -> Any:
        """As a ``pandas.DataFrame``."""
        with needing("frames"):
            return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """As a ``polars.DataFrame``."""
        with needing("frames"):
            import polars as pl

        return pl.DataFrame(self)

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows, {len(self.column_names)} columns>"


@dataclass(frozen=True)
class Plot:
    """A plot, as SVG and as PNG."""

    quantity: str
    """What it shows along the vertical axis."""
    suffix: str
    """What the names of its files end with, if there are several plots."""
    svg: str
    png: bytes

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Plot of {self.quantity}>"


class Result:
    """What a sweep has found: a row for each point, with means over its replications and their confidence intervals.

    Libraries take the table without a copy: ``polars.DataFrame(result)``, ``pyarrow.table(result)``. Its columns are those of the command's CSV; times are in
    cycles, or in nanoseconds where the name ends in ``_ns``; loads are in flits per node and cycle. What a point does not have is null.
    """

    __slots__ = ("_findings", "_name", "_reads", "title")

    title: str
    """What the experiment shows."""

    def __init__(self, findings: _native.Findings, name: str, title: str, reads: Callable[[], list[tuple[str, Path]]]) -> None:
        self._findings = findings
        self._name = name
        # The files that its experiment reads.
        self._reads = reads
        self.title = title

    @property
    def table(self) -> Table:
        """The table, a row a point."""
        return Table(self._findings.table())

    @property
    def replications(self) -> Table:
        """A row for each replication, with all figures of its result, by their dotted paths in the JSON of ``simulate``."""
        return Table(self._findings.replications())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a capsule with an Arrow stream. Its memory is shared. The schema is not converted."""
        return self._findings.table().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._findings.table().num_rows

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table``."""
        return self.table.to_arrow()

    def to_pandas(self) -> Any:
        """The table as a ``pandas.DataFrame``."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The table as a ``polars.DataFrame``."""
        return self.table.to_polars()

    def csv(self) -> str:
        """The table as CSV: the bytes that ``wormcast sweep`` writes."""
        return self._findings.csv()

    def replications_csv(self) -> str:
        """The replications as CSV: the bytes of ``wormcast sweep --replications FILE.csv``."""
        return self._findings.replications_csv()

    def replications_json(self) -> str:
        """The replications as JSON lines: the bytes of ``wormcast sweep --replications FILE.jsonl``."""
        return self._findings.replications_json()

    @property
    def points(self) -> list[dict[str, Any]]:
        """The summary of each point, with all its figures and their intervals."""
        return list(json.loads(self._findings.summaries()))

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The verdicts on the experiment's claims, each with its evidence."""
        return list(json.loads(self._findings.claims()))

    @property
    def rankings(self) -> list[dict[str, Any]]:
        """Which series is best where, as far as that is certain: one for each quantity that is shown."""
        return list(json.loads(self._findings.rankings()))

    @property
    def plots(self) -> list[Plot]:
        """The experiment's plots; none if there is nothing to plot."""
        return [Plot(*drawn) for drawn in self._findings.plots()]

    @property
    def damaged(self) -> list[str]:
        """The rows of the store that were damaged: they have been set aside, and simulated again."""
        return list(self._findings.damaged)

    def write(self, folder: str | os.PathLike[str] = "results") -> list[Path]:
        """Writes what ``wormcast sweep --out FOLDER`` writes: the table, plots and verdicts. Returns the files.

        Raises:
            RunError: If a file or the folder cannot be written. What is there then stays.

        Warns:
            UserWarning: If the table that is there has results of other settings, and is replaced.
        """
        folder = Path(file_text("folder", folder, "the path of a folder"))
        with written(folder):
            folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, bytes] = {".csv": self.csv().encode()}
        for plot in self.plots:
            files[f"{plot.suffix}.svg"] = plot.svg.encode()
            files[f"{plot.suffix}.png"] = plot.png
        if self.claims:
            files[".claims.json"] = self._findings.claims_file().encode()
        table = folder / f"{self._name}.csv"
        for ending in files:
            written_file = folder / f"{self._name}{ending}"
            for setting, read in self._reads():
                if written_file.exists() and os.path.exists(read) and os.path.samefile(written_file, read):
                    raise _native.InputError(f"the results would write `{written_file}`, which is read as `{setting}`: choose another folder, or another `name` of the experiment")
        if (had := self._findings.replaced(os.fspath(table))) is not None:
            warnings.warn(f"`{table}` {had}, and is replaced: `name` gives an experiment's files another name", stacklevel=2)
        for ending, contents in files.items():
            _native.write_file(os.fspath(folder / f"{self._name}{ending}"), contents)
        return [folder / f"{self._name}{ending}" for ending in files]

    def chart(self, x: str | None = None, y: str | None = None, series: str | None = None) -> Any:
        """An interactive plot with confidence intervals, of altair.

        Args:
            x: The column along the horizontal axis. Default: that of the experiment's first plot.
            y: The column along the vertical axis; the same holds for it. If there is a column ``NAME_half_width_UNIT`` or ``NAME_half_width`` beside it, that is
                its interval.
            series: The column that makes the curves; the same holds for it.

        Raises:
            InputError: If there is no such column.
        """
        with needing("plots"):
            import altair as alt

        frame = self.to_polars()
        names = frame.columns
        for column in (x, y, series):
            if column is not None and not isinstance(column, str):
                raise _native.InputError(f"found {column!r}; expected the name of a column")
            if column is not None and column not in names:
                near = difflib.get_close_matches(column.replace(".", "_"), names, n=3)
                expected = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else f"expected one of {', '.join(names)}"
                raise _native.InputError(f"there is no column `{column}`; {expected}")
        of_plot = self._findings.axes()
        quantity = of_plot[1].replace(".", "_").replace("-", "_")
        swept = names[: names.index("outcome")] if "outcome" in names else []
        along = [of_plot[0], of_plot[0].replace(".", "_"), *(name for name in swept if frame[name].dtype.is_numeric()), *swept, "config_hash"]
        x = x or next(name for name in along if name in names)
        y = y or next(name for name in (f"{quantity}_cycles", quantity, *names) if name in names and name.startswith(quantity))
        series = series or of_plot[2]
        stem, _, unit = y.rpartition("_")
        half = next((name for name in (f"{stem}_half_width_{unit}", f"{y}_half_width") if name in names), None)
        kept = list(dict.fromkeys(name for name in (x, y, series, half) if name is not None and name in names))
        # Dots are paths of altair.
        plain = {name: name.replace(".", " ") for name in kept}
        data = frame.select(kept).rename(plain).drop_nulls(plain[y])
        colour = [alt.Color(f"{plain[series]}:N")] if series in plain else []
        kind = "Q" if frame[x].dtype.is_numeric() else "N"
        base = alt.Chart(data).encode(alt.X(f"{plain[x]}:{kind}"), alt.Y(f"{plain[y]}:Q"), *colour)
        layers = [base.mark_line(point=True)]
        if half is not None:
            layers.append(base.mark_errorbar().encode(alt.Y(f"{plain[y]}:Q"), alt.YError(f"{plain[half]}:Q")))
        return alt.layer(*layers).properties(title=self.title).interactive()

    def _repr_html_(self) -> str:
        plots = "".join(plot.svg for plot in self.plots)
        lines = list(itertools.islice(csv.reader(io.StringIO(self.csv())), 31))
        shown = [place for place, name in enumerate(lines[0]) if name != "config_hash"][:12]
        rows = [
            "<tr>" + "".join(f"<{cell}>{escape(line[place])}</{cell}>" for place in shown) + "</tr>"
            for number, line in enumerate(lines)
            for cell in ["td" if number else "th"]
        ]
        more = f"<p>{len(self)} points</p>" if len(self) > 30 else ""
        return f"{plots}<table>{''.join(rows)}</table>{more}"

    def __repr__(self) -> str:
        return f"<Result of {self._name!r}: {counted(len(self), 'point')}>"


class Run:
    """What one simulation has measured. Made by :func:`simulate`."""

    __slots__ = ("_report", "_run")

    def __init__(self, native: _native.Run) -> None:
        self._run = native
        self._report: dict[str, Any] = json.loads(native.json)

    def __getitem__(self, key: str) -> Any:
        """A figure by its dotted path, such as ``run["latency.last.mean"]``: times in cycles.

        Raises:
            KeyError: If the run has no such figure.
        """
        found: Any = self._report
        if not isinstance(key, str):
            raise KeyError(key)
        for part in key.split("."):
            if not isinstance(found, dict) or part not in found:
                raise KeyError(key)
            found = found[part]
        return found

    def __contains__(self, key: object) -> bool:
        """Whether the run has a figure of this dotted path."""
        try:
            self[key]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        """The first parts of its figures' paths."""
        return iter(self._report)

    @property
    def saturated(self) -> bool:
        """Whether deliveries fell behind what messages asked for."""
        return bool(self._report["saturated"])

    @property
    def deadlock(self) -> dict[str, Any] | None:
        """The deadlock that ended the run: when, how many worms, and a cycle of worms that wait for each other."""
        found: dict[str, Any] | None = self._report.get("deadlock")
        return found

    @property
    def deliveries(self) -> Table | None:
        """A row for each delivery, if they were asked for: ``message``, ``source``, ``destination``, ``generated``, ``delivered`` (cycles)."""
        found = self._run.deliveries()
        return None if found is None else Table(found)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as ``wormcast simulate --format json`` prints them."""
        return dict(self._report)

    def __repr__(self) -> str:
        state = "deadlocked" if self.deadlock else "saturated" if self.saturated else "steady"
        return f"<Run of {self._report['algorithm']!r} on {self._report['topology']!r}: {state}>"
