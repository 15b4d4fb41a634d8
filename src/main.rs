//! The binary. All other code is in the library.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// The allocator is jemalloc. With glibc's allocator, about 40 MB more memory stays resident after a mixed load; see
/// `docs/decisions/0012-jemalloc.md`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    appliance::cli::run()
}
