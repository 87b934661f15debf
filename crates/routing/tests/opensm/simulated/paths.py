"""Asks the subnet administration for the service levels of paths: `paths.py LID...` prints source, destination and level of each pair.

Gets PathRecords (InfiniBand Architecture Specification, volume 1, 15.2.5.16).
"""

import ctypes
import struct
import sys

umad = ctypes.CDLL("libibumad.so.3")
umad.umad_get_mad.restype = ctypes.c_void_p
umad.umad_get_mad.argtypes = [ctypes.c_void_p]
umad.umad_set_addr.argtypes = [ctypes.c_void_p] + [ctypes.c_int] * 4
umad.umad_send.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
umad.umad_recv.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int]


class Port(ctypes.Structure):
    _fields_ = [
        ("ca_name", ctypes.c_char * 20),
        ("portnum", ctypes.c_int),
        ("base_lid", ctypes.c_uint),
        ("lmc", ctypes.c_uint),
        ("sm_lid", ctypes.c_uint),
        ("sm_sl", ctypes.c_uint),
        ("state", ctypes.c_uint),
        ("phys_state", ctypes.c_uint),
        ("rate", ctypes.c_uint),
        ("capmask", ctypes.c_uint32),
        ("gid_prefix", ctypes.c_uint64),
        ("port_guid", ctypes.c_uint64),
        ("rest", ctypes.c_byte * 256),
    ]



assert umad.umad_init() >= 0
port = Port()
assert umad.umad_get_port(None, 0, ctypes.byref(port)) >= 0, "no port"
fd = umad.umad_open_port(None, 0)
assert fd >= 0
agent = umad.umad_register(fd, 3, 2, 0, None)
assert agent >= 0
lids = [int(lid) for lid in sys.argv[1:]]
buffer = ctypes.create_string_buffer(umad.umad_size() + 256)
number = 0
for source in lids:
    for destination in lids:
        if source == destination:
            continue
        number += 1
        record = bytes(40) + struct.pack(">HH", destination, source) + bytes(20)
        # What is given: DLID, SLID.
        mask = 1 << 4 | 1 << 5
        # Subnet administration, Get(PathRecord).
        head = struct.pack(">BBBBHHQHHI", 1, 3, 2, 1, 0, 0, 0x55000000 + number, 0x35, 0, 0)
        mad = head + bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask) + record
        mad += bytes(256 - len(mad))
        ctypes.memmove(umad.umad_get_mad(buffer), mad, 256)
        umad.umad_set_addr(buffer, port.sm_lid, 1, 0, 0x80010000)
        assert umad.umad_send(fd, agent, buffer, 256, 2000, 3) >= 0
        length = ctypes.c_int(256)
        assert umad.umad_recv(fd, buffer, ctypes.byref(length), 5000) >= 0
        assert umad.umad_status(buffer) == 0, "no answer"
        answer = ctypes.string_at(umad.umad_get_mad(buffer), 256)
        (status,) = struct.unpack(">H", answer[4:6])
        assert status == 0, f"{source} to {destination}: {status:#x}"
        to, at = struct.unpack(">HH", answer[56 + 40 : 56 + 44])
        assert (to, at) == (destination, source)
        (level,) = struct.unpack(">H", answer[56 + 52 : 56 + 54])
        print(source, destination, level & 15)
