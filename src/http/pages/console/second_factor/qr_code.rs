//! QR codes (ISO/IEC 18004) as paths of an inline SVG.

use std::fmt::Write as _;

use qrcodegen::{QrCode, QrCodeEcc};

use crate::store::Error;

/// The width of the blank margin, in modules. Scanners need it to find the code.
const MARGIN: i32 = 4;

/// A QR code as an SVG shows it.
pub(super) struct QrPicture {
    /// The width and height, in modules, including the margin.
    pub(super) size: i32,
    /// The dark modules, as the data of a path.
    pub(super) path: String,
}

impl QrPicture {
    /// # Errors
    /// [`Error::Defect`] if the text does not fit into a QR code, which holds about 2,300 bytes.
    pub(super) fn of(text: &str) -> Result<Self, Error> {
        let code = QrCode::encode_text(text, QrCodeEcc::Medium);
        let code = code.map_err(|_| Error::Defect("a text is too long for a QR code".to_owned()))?;
        let mut path = String::new();
        for y in 0..code.size() {
            let mut x = 0;
            while x < code.size() {
                let length = (x..code.size()).take_while(|x| code.get_module(*x, y)).count();
                if length > 0 {
                    let _ = write!(path, "M{} {}h{length}v1h-{length}z", x + MARGIN, y + MARGIN);
                }
                x += 1 + i32::try_from(length).unwrap_or_default();
            }
        }
        Ok(Self { size: code.size() + 2 * MARGIN, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_covers_exactly_the_dark_modules() {
        let text = "otpauth://totp/jobs.example.com:ada%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).unwrap();
        let picture = QrPicture::of(text).unwrap();
        assert_eq!(picture.size, code.size() + 8);
        let mut drawn = Vec::new();
        for run in picture.path.split('M').skip(1) {
            let (x, rest) = run.split_once(' ').unwrap();
            let (y, rest) = rest.split_once('h').unwrap();
            let length: i32 = rest.split('v').next().unwrap().parse().unwrap();
            let (x, y): (i32, i32) = (x.parse().unwrap(), y.parse().unwrap());
            assert_eq!(rest, format!("{length}v1h-{length}z"));
            drawn.extend((x..x + length).map(|x| (y - MARGIN, x - MARGIN)));
        }
        let all = (0..code.size()).flat_map(|y| (0..code.size()).map(move |x| (y, x)));
        let dark: Vec<(i32, i32)> = all.filter(|(y, x)| code.get_module(*x, *y)).collect();
        assert_eq!(drawn, dark);
    }

    #[test]
    fn a_text_that_is_too_long_is_a_defect() {
        assert!(QrPicture::of(&"x".repeat(2_000)).is_ok());
        assert!(matches!(QrPicture::of(&"x".repeat(3_000)), Err(Error::Defect(_))));
    }
}
