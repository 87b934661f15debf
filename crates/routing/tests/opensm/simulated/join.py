"""Joins multicast groups as the host that ibsim takes this process for: `join.py LEVEL GROUP[:MLID]...` prints the address of each.

Sets an MCMemberRecord in the subnet administration (InfiniBand Architecture Specification, volume 1, 15.2.5.17), for groups that begin as IPoIB's do.
A group that is created by it has this service level, and the address (hexadecimal) that is asked for. OpenSM grants one that is free, and else gives out the lowest.
Packets are of at most 256 bytes at 2.5 Gbit/s, as more is not for the ports 0 of simulated switches, which may join, too.
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
level = int(sys.argv[1])
for argument in sys.argv[2:]:
    group, _, asked = argument.partition(":")
    group, asked = int(group), int(asked or "0", 16)
    # The group, and the port that joins: both in network byte order already where the library has them.
    mgid = struct.pack(">HHQI", 0xFF12, 0x401B, 0xFFFF << 48, group)
    gid = struct.pack("=QQ", port.gid_prefix, port.port_guid)
    record = mgid + gid + struct.pack(">IHBBHBBIBBH", 0xB1B, asked, 0x81, 0, 0xFFFF, 0x82, 0, level << 28, 0x21, 0, 0)
    # What is given: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState.
    mask = sum(1 << bit for bit in (0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 16))
    # Subnet administration, Set(MCMemberRecord).
    head = struct.pack(">BBBBHHQHHI", 1, 3, 2, 2, 0, 0, 0x77000000 + group, 0x38, 0, 0)
    mad = head + bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask) + record
    mad += bytes(256 - len(mad))
    buffer = ctypes.create_string_buffer(umad.umad_size() + 256)
    ctypes.memmove(umad.umad_get_mad(buffer), mad, 256)
    umad.umad_set_addr(buffer, port.sm_lid, 1, 0, 0x80010000)
    assert umad.umad_send(fd, agent, buffer, 256, 2000, 3) >= 0
    length = ctypes.c_int(256)
    assert umad.umad_recv(fd, buffer, ctypes.byref(length), 5000) >= 0
    assert umad.umad_status(buffer) == 0, "no answer"
    answer = ctypes.string_at(umad.umad_get_mad(buffer), 256)
    (status,) = struct.unpack(">H", answer[4:6])
    (mlid,) = struct.unpack(">H", answer[56 + 36 : 56 + 38])
    assert status == 0, hex(status)
    print(f"{mlid:#06x}")
