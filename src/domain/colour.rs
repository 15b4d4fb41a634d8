//! Derives a readable palette from an organization's brand colour. Readable means a contrast of at least 4.5, as
//! defined by WCAG 2.2.

use std::fmt;

/// The minimum contrast between text and its background (WCAG 2.2, success criterion 1.4.3).
pub const TEXT_CONTRAST_MIN: f64 = 4.5;

/// The backgrounds of the light style: the page and raised areas. The stylesheets use the same colours.
pub const ON_LIGHT: [Colour; 2] = [Colour::new(0xff, 0xff, 0xff), Colour::new(0xf4, 0xf6, 0xf8)];

/// The backgrounds of the dark style.
pub const ON_DARK: [Colour; 2] = [Colour::new(0x14, 0x17, 0x1a), Colour::new(0x1e, 0x23, 0x27)];

const WHITE: Colour = Colour::new(0xff, 0xff, 0xff);
const BLACK: Colour = Colour::new(0, 0, 0);

/// An sRGB colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    red: u8,
    green: u8,
    blue: u8,
}

impl Colour {
    /// Creates a colour from its three components.
    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue }
    }

    /// Parses the colour of a theme: `#` and 3, 6 or 8 hexadecimal digits. A translucent colour is blended with white.
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

    /// Returns the contrast between two colours, from 1 to 21.
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

    /// Mixes this colour with another one. The share of the other colour is `share` / 255.
    fn towards(self, other: Self, share: u8) -> Self {
        let part = |from: u8, to: u8| {
            let (from, to, share) = (i32::from(from), i32::from(to), i32::from(share));
            u8::try_from((from * (255 - share) + to * share + 127) / 255).unwrap_or(u8::MAX)
        };
        Self::new(part(self.red, other.red), part(self.green, other.green), part(self.blue, other.blue))
    }

    fn is_readable_on(self, backgrounds: [Self; 2]) -> bool {
        backgrounds.iter().all(|background| self.contrast(*background) >= TEXT_CONTRAST_MIN)
    }

    /// Returns the first mixture with `target` that is readable on both backgrounds.
    fn readable_on(self, backgrounds: [Self; 2], target: Self) -> Self {
        let mixtures = (0..=u8::MAX).map(|share| self.towards(target, share));
        mixtures.into_iter().find(|colour| colour.is_readable_on(backgrounds)).unwrap_or(target)
    }
}

/// Formats the colour as `#rrggbb`.
impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }
}

/// The colours of an organization's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// The brand colour, for backgrounds.
    pub brand: Colour,
    /// The colour of text on a background in the brand colour: white or black.
    pub on_brand: Colour,
    /// The colour of text on a light page: the brand colour or a similar one.
    pub text_on_light: Colour,
    /// The colour of text on a dark page: the brand colour or a similar one.
    pub text_on_dark: Colour,
}

impl Palette {
    /// Derives the palette. Text on a page gets the brand colour if that colour is readable. Otherwise, it gets the
    /// first readable mixture of the brand colour with black (on a light page) or white (on a dark page).
    pub fn of(brand: Colour) -> Self {
        let on_brand = if brand.contrast(WHITE) >= TEXT_CONTRAST_MIN { WHITE } else { BLACK };
        Self {
            brand,
            on_brand,
            text_on_light: brand.readable_on(ON_LIGHT, BLACK),
            text_on_dark: brand.readable_on(ON_DARK, WHITE),
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
    fn theme_colours_are_parsed() {
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
    fn contrasts_match_the_guidelines() {
        assert!((WHITE.contrast(BLACK) - 21.0).abs() < 1e-9);
        assert!((WHITE.contrast(WHITE) - 1.0).abs() < 1e-9);
        // The lightest grey that is readable on white, and the next lighter grey, which is not.
        assert!(colour("#767676").contrast(WHITE) >= TEXT_CONTRAST_MIN);
        assert!(colour("#777777").contrast(WHITE) < TEXT_CONTRAST_MIN);
    }

    #[test]
    fn a_readable_colour_is_unchanged() {
        let palette = Palette::of(colour("#0f766e"));
        assert_eq!((palette.brand, palette.on_brand, palette.text_on_light), (colour("#0f766e"), WHITE, palette.brand));
        assert_eq!(Palette::of(colour("#ffe600")).on_brand, BLACK);
        assert_eq!(Palette::of(colour("#ffe600")).text_on_dark, colour("#ffe600"));
    }

    /// Returns whether all text in the colours of a palette is readable.
    fn is_readable(palette: Palette) -> bool {
        palette.on_brand.contrast(palette.brand) >= TEXT_CONTRAST_MIN
            && palette.text_on_light.is_readable_on(ON_LIGHT)
            && palette.text_on_dark.is_readable_on(ON_DARK)
    }

    #[test]
    fn palettes_of_extreme_colours_and_greys_are_readable() {
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
        fn palettes_of_any_colour_are_readable(red: u8, green: u8, blue: u8) {
            let palette = Palette::of(Colour::new(red, green, blue));
            prop_assert!(is_readable(palette), "{palette:?}");
        }

        #[test]
        fn parsing_any_text_does_not_panic(text: String, hex in "#[0-9a-fA-F]{0,9}") {
            let _ = Colour::parse(&text);
            prop_assert_eq!(Colour::parse(&hex).is_some(), [3, 6, 8].contains(&(hex.len() - 1)));
        }
    }
}
