//! Message traces: random traffic replaced by a file.

use wormcast_multicast::{Multicast, left_out};
use wormcast_network::{Network, NodeId, is_all_nodes, parse_node, parse_node_list};

use crate::observers::observer::Cycle;

/// One message of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TraceMessage {
    pub(crate) at: Cycle,
    pub(crate) source: NodeId,
    pub(crate) length: u32,
    pub(crate) destinations: Vec<NodeId>,
}

/// A trace.
pub(crate) struct Trace {
    pub(crate) messages: Vec<TraceMessage>,
    /// Which nodes of its lists of destinations are left out, with the place of the first.
    pub(crate) warning: Option<String>,
}

/// The last cycle of a trace: later ones could not be told apart in floating-point results.
const MAX_CYCLE: Cycle = 1 << 53;

/// The columns of a line.
const COLUMNS: [&str; 4] = ["cycle", "source", "length", "destinations"];

const FORM: &str = "expected `cycle source length destinations`, as in `120 4,3 32 1,4;7,2`";

/// Reads a trace: one message a line, `cycle source length destinations`, destinations separated by `;`, nodes as numbers or
/// coordinates, `#` comments, cycles not decreasing. The error starts with `path:line:`, as does the warning of destinations that are
/// left out.
pub(crate) fn parse(path: &str, text: &str, network: &Network) -> Result<Trace, String> {
    let mut messages: Vec<TraceMessage> = Vec::new();
    let (mut warning, mut others) = (None, 0u64);
    for (number, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        let fail = |problem: String| format!("{path}:{}: {problem}", number + 1);
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[at, source, length, _, ..] = &words[..] else {
            let missing = words.len();
            return Err(fail(format!("column {}, `{}`, is missing; {FORM}", missing + 1, COLUMNS[missing])));
        };
        let at: Cycle = at.parse().map_err(|_| fail(format!("`{at}` is not a cycle; {FORM}")))?;
        if at > MAX_CYCLE {
            return Err(fail(format!("cycle {at} is beyond the last one, {MAX_CYCLE}")));
        }
        if let Some(previous) = messages.last().filter(|previous| previous.at > at) {
            return Err(fail(format!("cycle {at} comes after cycle {}; cycles must not decrease", previous.at)));
        }
        let source = parse_node(network, source).map_err(|error| fail(error.to_string()))?;
        let length = match length.parse::<u32>() {
            Ok(length) if (1..=crate::run::scenario::MAX_LENGTH).contains(&length) => length,
            _ => {
                let most = crate::run::scenario::MAX_LENGTH;
                return Err(fail(format!("`{length}` is not a length: expected 1 to {most} data flits")));
            }
        };
        let list = words[3..].join(" ");
        let destinations = parse_node_list(network, &list).map_err(|error| fail(error.to_string()))?;
        let multicast = Multicast::checked(source, &destinations).map_err(|error| fail(error.to_string()))?;
        if multicast.destinations().len() < destinations.len()
            && !is_all_nodes(&list)
            && let Some(left_out) = left_out(network, source, &destinations)
        {
            match &warning {
                None => warning = Some(fail(left_out)),
                Some(_) => others += 1,
            }
        }
        let destinations = multicast.into_destinations();
        messages.push(TraceMessage { at, source, length, destinations });
    }
    if messages.is_empty() {
        return Err(format!("{path}: no messages; {FORM}"));
    }
    let more = if others > 0 {
        format!(" (and in {others} more {})", if others == 1 { "line" } else { "lines" })
    } else {
        String::new()
    };
    Ok(Trace { messages, warning: warning.map(|warning| warning + &more) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    #[test]
    fn reads_messages_and_names_bad_lines() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let Trace { messages, warning } = parse("t", "# two\n0 1,1 20 3;0,2\n\n7 0 1 5 # last\n", &mesh).unwrap();
        assert_eq!(warning, None);
        assert_eq!(messages.len(), 2);
        assert_eq!((messages[0].source.raw(), messages[0].length, messages[0].destinations.len()), (5, 20, 2));
        let Trace { messages, warning } = parse("t", "0 1 2 all\n1 1 2 3;3\n1 1 2 1;2", &mesh).unwrap();
        assert_eq!(messages.iter().map(|message| message.destinations.len()).collect::<Vec<_>>(), [15, 1, 1]);
        let expected = "t:2: destinations that are named again count once: 3,0 (and in 1 more line)";
        assert_eq!(warning.as_deref(), Some(expected));
        let error = |text| parse("t", text, &mesh).err().unwrap();
        assert!(error("0 1 2").starts_with("t:1: column 4, `destinations`, is missing; expected `cycle source"));
        assert!(error("0 1").starts_with("t:1: column 3, `length`, is missing; expected `cycle source"));
        assert!(error("\n7").starts_with("t:2: column 2, `source`, is missing"));
        assert!(error("0 1 2 1").starts_with("t:1: no destination but the source, node 1"));
        assert!(error("0 1 2 ;").starts_with("t:1: no destination but the source, node 1"));
        assert!(error("5 1 2 3\n4 1 2 3").starts_with("t:2: cycle 4 comes after cycle 5"));
        assert!(error("5 1 0 3").starts_with("t:1: `0` is not a length"));
        assert!(error("x 1 2 3").starts_with("t:1: `x` is not a cycle"));
        assert!(error("0 16 2 3").starts_with("t:1: node 16 is out of range"));
        assert!(error("0 1 2 3;4;99").starts_with("t:1: node 99 is out of range"));
        assert!(error("0 1 2 3 5").starts_with("t:1: "), "not node 35");
        assert!(error("9007199254740993 1 2 3").contains("is beyond the last one, 9007199254740992"));
        assert!(error("# nothing").starts_with("t: no messages"));
    }
}
