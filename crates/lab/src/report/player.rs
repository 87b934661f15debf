//! Recorded runs on pages: played by the script of the browser interface, which the page then carries.

use std::io::{Read, Seek};

use wormcast_simulation::{ReplayError, ReplayFile};

use super::{Block, Page, Section};

/// What plays recorded runs on a page: a script, which needs nothing else, and its style.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Player {
    /// The script.
    pub script: &'static str,
    /// The style.
    pub style: &'static str,
}

impl Page {
    /// Adds a section with a recorded run that readers can play, before the last one. The whole file is in the page, which has to be HTML: in Markdown, the section is left out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn with_replay<R: Read + Seek>(
        mut self,
        player: Player,
        title: &str,
        caption: &str,
        replay: &mut ReplayFile<R>,
    ) -> Result<Self, ReplayError> {
        let run = Block::Replay { caption: caption.to_owned(), data: embedded(replay)? };
        let place = self.sections.len().saturating_sub(1);
        let anchor = "replay".to_owned();
        self.sections.insert(place, Section { title: title.to_owned(), anchor, level: 1, blocks: vec![run] });
        self.player = Some(player);
        Ok(self)
    }
}

/// A file as JSON that can stand in a script element: the header, and each chunk in base64.
fn embedded<R: Read + Seek>(replay: &mut ReplayFile<R>) -> Result<String, ReplayError> {
    let header = String::from_utf8_lossy(replay.header()).into_owned();
    let chunks = (0..replay.chunks().len()).map(|index| Ok(format!("\"{}\"", base64(&replay.deflated(index)?))));
    let chunks = chunks.collect::<Result<Vec<String>, ReplayError>>()?.join(",");
    // No text in it ends the element.
    Ok(format!("{{\"header\":{header},\"chunks\":[{chunks}]}}").replace('<', "\\u003c"))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let examples = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(examples.map(|text| base64(text.as_bytes())), expected);
        assert_eq!(base64(&[0xff, 0xfe, 0xfd, 0x00]), "//79AA==");
    }
}
