//! The layout of a page, and its unallocated part. `secure_delete` overwrites a deleted row with zeros. However, rows
//! also move within their page or to a neighbouring one (`rebuildPage` in SQLite's `btree.c`), and leave copies of
//! their bytes in the unallocated part. These copies remain after the rows are deleted.
//!
//! The layout is described in <https://sqlite.org/fileformat2.html>, §1.6.

use std::ops::Range;

/// The highest number of a page that is wiped. Overflow pages begin with a page number, and the first byte of a higher
/// page number could look like the type of a b-tree page. With pages of 4 KiB, only a file larger than 137 GB has pages
/// with higher numbers.
pub(crate) const NUMBER_MAX: u32 = 0x01ff_ffff;

/// Returns the range of the unallocated bytes of a page: the bytes between the pointers to the rows and the first row.
/// Returns `None` if the page is malformed or does not belong to the b-tree of a table or index.
pub(crate) fn unallocated(page: &[u8]) -> Option<Range<usize>> {
    let header = match page.first()? {
        2 | 5 => 12,
        10 | 13 => 8,
        _ => return None,
    };
    let number = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
    let begin = header + 2 * number(3)?;
    // A page of 65,536 bytes without rows stores 0.
    let end = Some(number(5)?).filter(|end| *end > 0).unwrap_or(65_536);
    (begin <= end && end <= page.len()).then_some(begin..end)
}

/// Returns whether the unallocated part contains a byte other than zero.
pub(crate) fn needs_wiping(page: &[u8]) -> bool {
    unallocated(page).is_some_and(|range| page[range].iter().any(|byte| *byte != 0))
}

/// Returns the page with zeros in its unallocated part.
pub(crate) fn wiped(page: &[u8]) -> Vec<u8> {
    let mut wiped = page.to_vec();
    if let Some(range) = unallocated(page) {
        wiped[range].fill(0);
    }
    wiped
}

#[cfg(test)]
mod tests {
    use crate::db::sqlite::page::*;

    /// Returns a leaf page of an index, with two rows at its end.
    fn leaf() -> Vec<u8> {
        let mut page = vec![0; 512];
        page[..8].copy_from_slice(&[10, 0, 0, 0, 2, 1, 0xf0, 0]);
        page[8..12].copy_from_slice(&[1, 0xf8, 1, 0xf0]);
        page[0x1f0..].fill(b'r');
        page
    }

    #[test]
    fn only_the_bytes_between_pointers_and_rows_are_wiped() {
        let clean = leaf();
        assert_eq!(unallocated(&clean), Some(12..0x1f0));
        assert!(!needs_wiping(&clean));
        let mut page = leaf();
        page[12] = b'a';
        page[0x1ef] = b'z';
        assert!(needs_wiping(&page));
        assert_eq!(wiped(&page), clean);
    }

    #[test]
    fn overflow_pages_and_malformed_pages_are_not_wiped() {
        let mut overflow = vec![b'o'; 512];
        overflow[..4].copy_from_slice(&[0, 0, 0, 9]);
        for page in [overflow, vec![0; 512], vec![10; 4], Vec::new()] {
            assert_eq!(unallocated(&page), None);
            assert!(!needs_wiping(&page));
            assert_eq!(wiped(&page), page);
        }
        // The rows begin before the end of the pointers, or beyond the page.
        for (count, begin) in [(200, 0x10), (2, 0xffff)] {
            let mut page = leaf();
            page[4] = count;
            page[5..7].copy_from_slice(&u16::to_be_bytes(begin));
            assert_eq!(unallocated(&page), None);
        }
    }
}
