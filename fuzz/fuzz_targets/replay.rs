//! Any bytes as a recorded run: opened, with each chunk read. They are tried as a whole file and, since a checksum stops most of those, as the header and as a
//! chunk of one that is otherwise whole.
#![no_main]

use std::io::{Cursor, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use libfuzzer_sys::fuzz_target;
use wormcast_simulation::{REPLAY_MAGIC, ReplayFile};

const NETWORK: &str = r#"{"routers":2,"nodes":2,"node_router":[0,1],"entry_router":null,"from":[0,1],"to":[1,0]}"#;
const ZEROS: &str = r#"{"flits":[0,0,0,0,0,0],"held":[0,0,0,0,0,0],"waited":[0,0,0,0,0,0],"worms":[0,0,0,0,0,0]"#;

fn read(bytes: Vec<u8>) {
    let Ok(mut file) = ReplayFile::open(Cursor::new(bytes)) else { return };
    for index in 0..file.chunks().len() {
        let _ = file.deflated(index);
        let _ = file.worms(index);
    }
}

/// Deflated bytes and their checksum.
fn piece(bytes: &[u8]) -> (Vec<u8>, u32) {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflate.write_all(bytes).expect("memory");
    let deflated = deflate.finish().expect("memory");
    let mut crc = Crc::new();
    crc.update(&deflated);
    (deflated, crc.sum())
}

/// A file of one chunk and a header.
fn file(chunk: &[u8], header: &[u8]) -> Vec<u8> {
    let mut bytes = [&REPLAY_MAGIC[..], chunk].concat();
    let offset = bytes.len() as u64;
    let (deflated, crc) = piece(header);
    bytes.extend(&deflated);
    bytes.extend(offset.to_le_bytes());
    for number in [deflated.len() as u32, header.len() as u32, crc, 1] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"wcreplay");
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    read(file(&[], bytes));
    let (chunk, crc) = piece(bytes);
    let index = format!(
        r#"{{"first_cycle":0,"last_cycle":9,"worms":{},"offset":{},"bytes":{},"size":{},"crc32":{crc}}}"#,
        bytes.first().copied().unwrap_or_default(),
        REPLAY_MAGIC.len(),
        chunk.len(),
        bytes.len()
    );
    let header = format!(
        r#"{{"version":1,"cycles":10,"ports":{{"injection":1,"consumption":1}},"network":{NETWORK},"measures":{ZEROS},"multicast":{ZEROS}}}}},"chunks":[{index}]}}"#
    );
    read(file(&chunk, header.as_bytes()));
});
