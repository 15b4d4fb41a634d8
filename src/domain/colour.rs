//! Colours: what is made of an organization's one colour so that its pages can be read, whatever the colour is. The measure is
//! the contrast of WCAG 2.2, of which text needs 4.5.

use std::fmt;

/// The contrast that text is to have with what it stands on (WCAG 2.2, success criterion 1.4.3).
pub const TEXT_CONTRAST_MIN: f64 = 4.5;

/// What text stands on where the reader wants it light: the page, and what is raised from it. The style has the same.
pub const ON_LIGHT: [Colour; 2] = [Colour::new(0xff, 0xff, 0xff), Colour::new(0xf4, 0xf6, 0xf8)];

/// The same where the reader wants it dark.
pub const ON_DARK: [Colour; 2] = [Colour::new(0x14, 0x17, 0x1a), Colour::new(0x1e, 0x23, 0x27)];

const WHITE: Colour = Colour::new(0xff, 0xff, 0xff);
const BLACK: Colour = Colour::new(0, 0, 0);

/// A colour of sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    red: u8,
    green: u8,
    blue: u8,
}

impl Colour {
    /// Of its three parts.
    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue }
    }

    /// The colour that a theme names: `#` and 3, 6 or 8 hexadecimal digits. One that can be seen through is what it is on
    /// white.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix('#').filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let part = |from: usize, to: usize| u8::from_str_radix(&hex[from..to], 16).ok();
        match hex.len() {
            3 => Some(Self::new(part(0, 1)? * 0x11, part(1, 2)? * 0x11, part(2, 3)? * 0x11)),
            6 => Some(Self::new(part(0, 2)?, part(2, 4)?, part(4, 6)?)),
            8 => Some(WHITE.towards(Self::new(part(0, 2)?, part(2, 4)?, part(4, 6)?), part(6, 8)?)),
            _ => None,
        }
    }

    /// The contrast of two colours, from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn luminance(self) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }

    /// So many 255ths of the way to another colour.
    fn towards(self, other: Self, way: u8) -> Self {
        let part = |from: u8, to: u8| {
            let (from, to, way) = (i32::from(from), i32::from(to), i32::from(way));
            u8::try_from((from * (255 - way) + to * way + 127) / 255).unwrap_or(u8::MAX)
        };
        Self::new(part(self.red, other.red), part(self.green, other.green), part(self.blue, other.blue))
    }

    fn is_read_on(self, grounds: [Self; 2]) -> bool {
        grounds.iter().all(|ground| self.contrast(*ground) >= TEXT_CONTRAST_MIN)
    }

    /// The nearest colour, on the way to another one, in which text can be read on all of these.
    fn read_on(self, grounds: [Self; 2], by_way_of: Self) -> Self {
        let tried = (0..=u8::MAX).map(|way| self.towards(by_way_of, way));
        tried.into_iter().find(|colour| colour.is_read_on(grounds)).unwrap_or(by_way_of)
    }
}

/// `#rrggbb`.
impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }
}

/// What pages are coloured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// The colour itself, for areas.
    pub brand: Colour,
    /// Text on it.
    pub on_brand: Colour,
    /// Text in the colour on a light page.
    pub text_on_light: Colour,
    /// Text in the colour on a dark page.
    pub text_on_dark: Colour,
}

impl Palette {
    /// What is made of one colour: itself where it can be read, else the nearest that can.
    pub fn of(brand: Colour) -> Self {
        let on_brand = if brand.contrast(WHITE) >= TEXT_CONTRAST_MIN { WHITE } else { BLACK };
        Self {
            brand,
            on_brand,
            text_on_light: brand.read_on(ON_LIGHT, BLACK),
            text_on_dark: brand.read_on(ON_DARK, WHITE),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn colour(text: &str) -> Colour {
        Colour::parse(text).unwrap()
    }

    #[test]
    fn colours_are_read_as_themes_write_them() {
        for (text, shown) in [
            ("#fff", "#ffffff"),
            ("#0aF", "#00aaff"),
            ("#0f766e", "#0f766e"),
            ("#0F766EFF", "#0f766e"),
            ("#00000000", "#ffffff"),
            ("#00000080", "#7f7f7f"),
        ] {
            assert_eq!(colour(text).to_string(), shown, "{text}");
        }
        for none in ["", "#", "fff", "#ffff", "#ggg", "teal", "#0f766", "#0f766e;", "#ääx", "#+ff", "#0f766e0f0"] {
            assert_eq!(Colour::parse(none), None, "{none}");
        }
    }

    #[test]
    fn contrasts_are_those_of_the_guidelines() {
        assert!((WHITE.contrast(BLACK) - 21.0).abs() < 1e-9);
        assert!((WHITE.contrast(WHITE) - 1.0).abs() < 1e-9);
        // The two greys that everybody knows: the lightest that passes on white, and the next.
        assert!(colour("#767676").contrast(WHITE) >= TEXT_CONTRAST_MIN);
        assert!(colour("#777777").contrast(WHITE) < TEXT_CONTRAST_MIN);
    }

    #[test]
    fn a_colour_that_can_be_read_stays_what_it_is() {
        let palette = Palette::of(colour("#0f766e"));
        assert_eq!((palette.brand, palette.on_brand, palette.text_on_light), (colour("#0f766e"), WHITE, palette.brand));
        assert_eq!(Palette::of(colour("#ffe600")).on_brand, BLACK);
        assert_eq!(Palette::of(colour("#ffe600")).text_on_dark, colour("#ffe600"));
    }

    /// Whether all text that pages have in a colour, or on it, can be read.
    fn is_readable(palette: Palette) -> bool {
        palette.on_brand.contrast(palette.brand) >= TEXT_CONTRAST_MIN
            && palette.text_on_light.is_read_on(ON_LIGHT)
            && palette.text_on_dark.is_read_on(ON_DARK)
    }

    #[test]
    fn the_corners_of_all_colours_and_every_grey_can_be_read() {
        for corner in 0..8 {
            let part = |bit: u8| if corner >> bit & 1 == 1 { u8::MAX } else { 0 };
            let corner = Colour::new(part(0), part(1), part(2));
            assert!(is_readable(Palette::of(corner)), "{corner}");
        }
        for grey in 0..=u8::MAX {
            assert!(is_readable(Palette::of(Colour::new(grey, grey, grey))), "{grey}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_colour_is_its_pages_can_be_read(red: u8, green: u8, blue: u8) {
            let palette = Palette::of(Colour::new(red, green, blue));
            prop_assert!(is_readable(palette), "{palette:?}");
        }

        #[test]
        fn any_text_is_a_colour_or_none(text: String, hex in "#[0-9a-fA-F]{0,9}") {
            let _ = Colour::parse(&text);
            prop_assert_eq!(Colour::parse(&hex).is_some(), [3, 6, 8].contains(&(hex.len() - 1)));
        }
    }
}
