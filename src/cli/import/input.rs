//! Reads the input of an import.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum number of bytes that one import reads from all its files. The import holds the bytes and the parsed
/// values in memory. A document with 100,000 candidates has a size of about 100 MB, so the limit is several times the
/// size of any expected document. The limit also ends an endless stream.
pub(super) const INPUT_BYTES_MAX: u64 = 512 << 20;

/// Reads a file or standard input. Refuses more than `bytes_max` bytes, and refuses a larger regular file without
/// reading it.
pub(super) fn read(document: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let (source, size): (Box<dyn Read>, u64) = if document == Path::new("-") {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(document)?;
        let size = file.metadata()?.len();
        (Box::new(file), size)
    };
    let mut bytes = Vec::new();
    if size <= bytes_max {
        source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > bytes_max {
        let most = INPUT_BYTES_MAX >> 20;
        let why =
            format!("an import reads at most {most} MiB from all its files; split the input into several imports");
        return Err(io::Error::other(why));
    }
    Ok(bytes)
}
