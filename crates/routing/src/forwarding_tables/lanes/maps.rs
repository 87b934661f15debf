//! The file of the lanes that switches put service levels on.

use std::collections::HashMap;

use wormcast_network::input::input_name;
use wormcast_network::{MAX_FILE_BYTES, RouterId};

use super::{DROPPED, LEVELS, Map, VirtualLanes, shown};
use crate::forwarding_tables::opensm::{Identities, check_port, hexadecimal_after};
use crate::forwarding_tables::{TablesContext, TablesError, Target, text_of};

const MAPS_EXPECTED: &str = "the tables from service levels to lanes that OpenSM writes to `opensm-sl2vl.dump`, or lines such as \
                             `0x0000000000200000 5 1 0x01 0x23 …` (identifier of the switch, ports in and out, a digit for each level)";

/// Ports in and out, and the lane of each level: `5 1 0x01 0x23 …` or `5 1 : 0 1 2 3 …`.
fn entry(text: &str) -> Result<([u8; 2], Map), String> {
    let mut words = text.split_whitespace().filter(|&word| word != ":");
    let mut port = |what: &str| {
        let word = words.next().map(|word| word.trim_end_matches(':'));
        word.and_then(|word| word.parse::<u8>().ok()).ok_or_else(|| format!("expected the port {what}"))
    };
    let ports = [port("in")?, port("out")?];
    let mut lanes: Vec<u8> = Vec::with_capacity(LEVELS);
    for word in words {
        let numbers: Option<Vec<u8>> = match word.strip_prefix("0x") {
            Some(digits) => digits.chars().map(|digit| digit.to_digit(16).map(|lane| lane as u8)).collect(),
            None => word.parse().ok().filter(|&lane| lane <= DROPPED).map(|lane| vec![lane]),
        };
        lanes.extend(numbers.ok_or_else(|| format!("`{}` is no lane from 0 to 15", shown(word)))?);
    }
    let count = lanes.len();
    let map = lanes.try_into().map_err(|_| format!("found lanes for {count} service levels, not for {LEVELS}"))?;
    Ok((ports, map))
}

/// Reads the lanes of service levels: see [`VirtualLanes::with_maps`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_maps(lanes: VirtualLanes, path: &str) -> Result<VirtualLanes, TablesError> {
    let text = text_of(path, "the lanes of service levels", MAX_FILE_BYTES)?;
    lanes.with_maps(input_name(path), &text)
}

impl VirtualLanes {
    /// Takes the lanes of service levels from a text: what `OpenSM` writes to `opensm-sl2vl.dump`, or lines as `ibdmchk -d` reads them. Tables of
    /// adapters are passed over: the lanes of links from hosts to switches block nobody else.
    ///
    /// # Errors
    /// If the text is of neither form, names what the network does not have, or says nothing of two connected ports of a switch that it describes.
    pub fn with_maps(mut self, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: MAPS_EXPECTED };
        let identities = Identities::new(&self.fabric);
        // The switch that a section is of, if it is one.
        let mut section: Option<Option<RouterId>> = None;
        let mut began: HashMap<RouterId, usize> = HashMap::new();
        let mut lines = 0;
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            lines = line;
            let wrong = |problem: String| file.error(line, problem);
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if content.starts_with("Switch") || content.starts_with("Channel Adapter") {
                let guid =
                    hexadecimal_after(content, "0x").ok_or_else(|| wrong("the device has no identifier".to_owned()))?;
                section = Some(self.device(&identities, guid).map_err(wrong)?);
                continue;
            }
            let (router, rest) = if content.starts_with("0x") {
                let (guid, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
                let guid = hexadecimal_after(guid, "0x").ok_or_else(|| wrong(format!("`{guid}` is no identifier")))?;
                (self.device(&identities, guid).map_err(wrong)?, rest)
            } else {
                (section.ok_or_else(|| wrong("an entry before the first switch".to_owned()))?, content)
            };
            let (ports, map) = entry(rest).map_err(wrong)?;
            let Some(router) = router else { continue };
            for port in ports {
                check_port(&self.fabric, router, u32::from(port)).map_err(wrong)?;
            }
            began.entry(router).or_insert(line);
            let known = self.maps[router.index()].get_or_insert_default().insert((ports[0], ports[1]), map);
            if known.is_some_and(|known| known != map) {
                return Err(wrong(format!(
                    "`{}` has other lanes from port {} to port {} already",
                    self.fabric.router_label(router),
                    ports[0],
                    ports[1]
                )));
            }
        }
        if began.is_empty() {
            return Err(file.error(lines.max(1), "there is no switch"));
        }
        let mut described: Vec<(usize, RouterId)> = began.into_iter().map(|(router, line)| (line, router)).collect();
        described.sort_unstable();
        for (line, router) in described {
            if let Some((arriving, leaving)) = self.unsaid(router) {
                let name = self.fabric.router_label(router);
                let problem = format!(
                    "the lanes of `{name}`, which begin here, lack those from port {arriving} to port {leaving}"
                );
                return Err(file.error(line, problem));
            }
        }
        self.count_lanes();
        Ok(self)
    }

    /// The switch with this identifier; `None` if it is an adapter.
    fn device(&self, identities: &Identities, guid: u64) -> Result<Option<RouterId>, String> {
        let network = self.fabric.name();
        match identities.target(guid)? {
            Some(Target::Router(router)) => Ok(Some(router)),
            Some(Target::Node(_)) => Ok(None),
            None if self.fabric.node_ids().any(|node| self.fabric.adapter_guid(node) == Some(guid)) => Ok(None),
            None => Err(format!("`{network}` has no device with the identifier {guid:#018x}")),
        }
    }

    /// Two different connected ports of a switch between which nothing is said.
    fn unsaid(&self, router: RouterId) -> Option<(u32, u32)> {
        let fabric = &*self.fabric;
        let map = self.maps[router.index()].as_ref()?;
        let channels = fabric.outputs(router).filter_map(|channel| fabric.port_of(channel));
        let ports: Vec<u32> =
            channels.chain(fabric.nodes_of(router).filter_map(|node| fabric.node_port(node))).collect();
        let pairs = ports.iter().flat_map(|&a| ports.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
        let mut unsaid = pairs.filter(|&(a, b)| !map.contains_key(&(a as u8, b as u8)));
        unsaid.next()
    }
}
