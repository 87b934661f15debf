"""Checks the proof of a repair, sharing nothing with wormcast: `check.py FABRIC LFTS MULTICASTS GROUPS LEVELS MAPS NUMBERING`; `-`: there is none. MAPS is what OpenSM
writes to `opensm-sl2vl.dump`, or what it reads in `opensm.conf`.

Follows every packet of every host to every other and to every group, and expects the numbers of the lanes of channels that it takes to rise.
"""

import csv
import re
import sys

fabric, lfts, multicasts, members, levels_of, maps_of, numbering = ["" if name == "-" else open(name).read() for name in sys.argv[1:]]
switches, hosts, ends = [], [], {}
for line in fabric.splitlines():
    if device := re.match(r'(Switch|Hca)\s+\d+\s+"([^"]+)"', line):
        at = device[2]
        (switches if device[1] == "Switch" else hosts).append(at)
    elif link := re.match(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line):
        ends[at, int(link[1])] = (link[2], int(link[3]))
        ends[link[2], int(link[3])] = (at, int(link[1]))
names = {0x200000 + number: name for number, name in enumerate(switches)}
numbers = {(row["from_name"], int(row["from_port"]), int(row["lane"])): int(row["number"]) for row in csv.DictReader(numbering.splitlines())}
tables, owners, guids = {}, {}, {}
for line in lfts.splitlines():
    if section := re.match(r"Unicast lids .* guid 0x([0-9a-f]+)", line):
        at = names[int(section[1], 16)]
    elif entry := re.match(r"0x([0-9a-f]+) (\d+) # (Channel Adapter|Switch) portguid 0x([0-9a-f]+): '([^']*)'", line):
        tables[at, int(entry[1], 16)] = int(entry[2])
        if entry[3] == "Channel Adapter":
            owners[int(entry[1], 16)] = entry[5]
            guids[entry[5]] = int(entry[4], 16)
masks = {}
for line in multicasts.splitlines():
    if line.startswith("Switch"):
        at = names[int(line.split()[1], 16)]
    elif line.startswith("0x"):
        mlid, ports = line.split(":")
        masks[at, int(mlid, 16)] = [int(port, 16) for port in ports.split()]
levels = {(int(guid, 16), int(lid)): int(level) for guid, lid, level in map(str.split, levels_of.splitlines())}
ports = set(guids.values())


def level_of(port, lid):
    """The level of a path from a port: that of the port itself, or of its adapter, which ibsim gives the number before that of its first port."""
    return levels.get((port, lid), levels.get((port - 1, lid), 0) if port - 1 not in ports else 0)


maps, common = {}, range(16)
for line in maps_of.splitlines():
    if line.startswith("qos_swe_sl2vl"):
        common = [int(lane) for lane in line.split()[1].split(",")]
    elif line.startswith("Switch"):
        at = names.get(int(line.split()[1].rstrip(","), 16))
    elif entry := re.match(r"(\d+)\s+(\d+)\s*:(.*)", line):
        maps[at, int(entry[1]), int(entry[2])] = [int(lane) for lane in entry[3].split()]


def follow(packet, at, came, level, last, out):
    """The packets of a switch go on: each lane has a higher number than the one before. How many pairs of lanes that were."""
    pairs = 0
    # Port 0 is the switch itself, which takes what comes.
    for port in filter(None, out(at, came)):
        to, arrives = ends[at, port]
        if to in hosts:
            continue
        lane = maps.get((at, came, port), common)[level]
        number = numbers[at, port, lane]
        assert number > last, f"{packet}: {at}[{port}] on lane {lane} has the number {number}, after {last}"
        pairs += (last >= 0) + follow(packet, to, arrives, level, number, out)
    return pairs


pairs = 0
for host, own in guids.items():
    at, came = ends[host, 1]
    for lid, owner in owners.items():
        if owner != host:
            pairs += follow((host, owner), at, came, level_of(own, lid), -1, lambda at, _: [tables[at, lid]])
    for line in members.splitlines():
        mlid, names_of = line.split(": ")
        mlid = int(mlid, 16)
        if host in names_of.split(";"):
            out = lambda at, came: [port for port in masks.get((at, mlid), []) if port != came]
            pairs += follow((host, hex(mlid)), at, came, level_of(own, mlid), -1, out)
print(pairs)
