//! A folder with files to run the command in.

use std::fs;
use std::path::Path;

use crate::{Outcome, command, outcome};

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, contents: &[u8]) {
        if let Some(folder) = self.path().join(name).parent() {
            fs::create_dir_all(folder).expect("the folder is made");
        }
        fs::write(self.path().join(name), contents).expect("the file is written");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("text")
    }

    /// The names of all files, sorted.
    pub(crate) fn files(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path().join(below)).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs the command with this as its working directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        outcome(command(arguments).current_dir(self.path()).spawn().expect("the command starts"))
    }
}
