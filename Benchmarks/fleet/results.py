#!/usr/bin/env python3
"""Writes Tests/Fleet/RESULTS.md from the rows that a run left in the file DLD_FLEET_RESULTS (support.record)."""

from __future__ import annotations

import datetime
import json
import os
import pathlib

from load import CHECKOUT, programs

HEAD = """# Results

What the last whole run of `make check-fleet` saw. The bars are those of the contract; "–" has none. A bar that was missed is **bold**.

{date}; {cores} cores, {memory} GB, Linux {kernel}, {postgres}, load {load} at the end; {build} programs.

| what | bar | seen |
|---|---|---|
"""


def machine() -> dict[str, object]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    version = programs().parent.name
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "cores": os.cpu_count(),
            "memory": round(pages / (1 << 30)), "kernel": ".".join(os.uname().release.split(".")[:2]),
            "postgres": f"PostgreSQL {version}" if version.isdigit() else "PostgreSQL", "load": round(os.getloadavg()[0]),
            "build": "optimized" if "release" in os.environ.get("DLD_BINARIES", "") else "debug"}


def main() -> None:
    rows: dict[str, dict[str, object]] = {}
    for line in pathlib.Path(os.environ["DLD_FLEET_RESULTS"]).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["what"]] = row
    text = HEAD.format(**machine())
    for row in rows.values():
        seen = row["seen"] if row["kept"] else f"**{row['seen']}**"
        text += f"| {row['what']} | {row['bar']} | {seen} |\n"
    (CHECKOUT / "Tests" / "Fleet" / "RESULTS.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
