//! Disk space: the limits for uploads and backups, and the size of the reserve.

/// The size and the free space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// The number of bytes that this process can still write.
    pub free_bytes: u64,
    /// The size of the file system in bytes.
    pub total_bytes: u64,
}

/// The maximum size of the reserve, which is enough for about ten thousand erasures or revocations while the disk is
/// full.
const RESERVE_BYTES_MAX: u64 = 64 << 20;

/// On a small disk, the reserve is the size of the disk divided by this number.
const RESERVE_DIVISOR: u64 = 16;

/// The default of `--min-free` on a disk of at least 20 GB. Uploads and backups stop while less space is free.
const MIN_FREE_BYTES_MAX: u64 = 1_000_000_000;

/// On a smaller disk, the default of `--min-free` is the size of the disk divided by this number.
const MIN_FREE_DIVISOR: u64 = 20;

impl DiskSpace {
    /// Returns the size of the reserve on this disk.
    pub fn reserve_bytes(self) -> u64 {
        RESERVE_BYTES_MAX.min(self.total_bytes / RESERVE_DIVISOR)
    }

    /// Returns whether the disk has room for the missing bytes of the reserve and for some ordinary writes. Without
    /// room for ordinary writes, the service would immediately release the reserve again.
    pub fn has_room_for_reserve(self, missing_bytes: u64) -> bool {
        self.free_bytes >= missing_bytes + self.reserve_bytes() / 4
    }
}

/// The limits for uploads. `min_free_bytes` also applies to backups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UploadLimits {
    /// The free bytes that an upload or a backup must leave on its disk. The default is 1 GB or 5% of the disk,
    /// whichever is smaller.
    pub min_free_bytes: Option<u64>,
    /// The maximum total size of all attachments in bytes; `None` for no limit.
    pub attachments_bytes_max: Option<u64>,
}

impl UploadLimits {
    /// Returns whether the disk has room for `bytes` more bytes of an upload or a backup. If the disk space is unknown,
    /// returns true.
    pub fn has_free_space(self, disk: Option<DiskSpace>, bytes: u64) -> bool {
        let Some(disk) = disk else { return true };
        let default = || MIN_FREE_BYTES_MAX.min(disk.total_bytes / MIN_FREE_DIVISOR);
        disk.free_bytes >= self.min_free_bytes.unwrap_or_else(default).saturating_add(bytes)
    }

    /// Returns whether the limit for all attachments leaves room for `bytes` more bytes. `attachment_bytes` includes
    /// staged attachments.
    pub fn has_room_for(self, attachment_bytes: u64, bytes: u64) -> bool {
        self.attachments_bytes_max.is_none_or(|bytes_max| attachment_bytes.saturating_add(bytes) <= bytes_max)
    }
}

/// Parses a size: a number of bytes, or a number with the unit `K`, `M`, `G` or `T` (powers of 1024) in upper or lower
/// case.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let factor: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn disk(free_bytes: u64, total_bytes: u64) -> DiskSpace {
        DiskSpace { free_bytes, total_bytes }
    }

    #[test]
    fn uploads_stop_when_less_than_a_gigabyte_or_a_twentieth_of_the_disk_is_free() {
        let limits = UploadLimits::default();
        for (free, total, has_room) in
            [(GB, 100 * GB, true), (GB - 1, 100 * GB, false), (50, 1_000, true), (49, 1_000, false), (0, 0, true)]
        {
            assert_eq!(limits.has_free_space(Some(disk(free, total)), 0), has_room, "{free} of {total}");
        }
        assert!(!limits.has_free_space(Some(disk(GB + 9, 100 * GB)), 10));
        assert!(limits.has_free_space(Some(disk(GB + 10, 100 * GB)), 10));
        assert!(limits.has_free_space(None, 10));
        let given = UploadLimits { min_free_bytes: Some(7), ..limits };
        assert!(given.has_free_space(Some(disk(7, 100 * GB)), 0) && !given.has_free_space(Some(disk(6, 100 * GB)), 0));
        let off = UploadLimits { min_free_bytes: Some(0), ..limits };
        assert!(off.has_free_space(Some(disk(0, GB)), 0));
    }

    #[test]
    fn the_total_size_of_attachments_is_limited_only_if_a_maximum_is_given() {
        assert!(UploadLimits::default().has_room_for(u64::MAX, 1));
        let limits = UploadLimits { attachments_bytes_max: Some(10), ..UploadLimits::default() };
        assert!(limits.has_room_for(9, 1) && !limits.has_room_for(9, 2) && !limits.has_room_for(u64::MAX, 1));
    }

    #[test]
    fn a_small_disk_has_a_small_reserve() {
        assert_eq!(disk(0, 100 * GB).reserve_bytes(), 64 << 20);
        assert_eq!(disk(0, 64 << 20).reserve_bytes(), 4 << 20);
        let small = disk(5 << 20, 64 << 20);
        assert!(small.has_room_for_reserve(4 << 20) && !small.has_room_for_reserve((4 << 20) + 1));
    }

    #[test]
    fn sizes_are_parsed_with_their_unit() {
        for (text, bytes) in
            [("0", 0), ("1000", 1_000), ("2k", 2_048), ("3M", 3 << 20), ("1G", 1 << 30), ("1t", 1 << 40)]
        {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
        for bad in ["", "G", "1GB", "1 G", "-1", "+1", "1.5G", "ä", "99999999999T", "18446744073709551616"] {
            assert_eq!(parse_bytes(bad), None, "{bad}");
        }
    }
}
