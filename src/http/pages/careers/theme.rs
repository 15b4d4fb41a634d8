//! `GET /careers/{orgSlug}/theme.css`: an organization's colours, as the style of all pages asks for them.

use serde_json::Value;

use crate::domain::colour::{Colour, Palette};
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::{self, Error, Tx};

/// `GET /careers/{orgSlug}/theme.css`
///
/// # Errors
/// `not_found` where there is no organization with this slug, or its portal is off.
pub(super) fn theme(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let theme = portal::parse_theme(&organization.theme)?;
    let colour = theme.get("primaryColor").and_then(Value::as_str).and_then(Colour::parse);
    let style = colour.map(|colour| style(Palette::of(colour))).unwrap_or_default();
    let read_at = store::change_number::portals(tx)?;
    Ok(Reply::tagged_file("text/css; charset=utf-8", style).valid_until_change(organization.id, read_at))
}

/// The colours, for readers who want a page light and for those who want it dark. An organization without a colour has
/// those of the service.
fn style(Palette { brand, on_brand, text_on_light, text_on_dark }: Palette) -> String {
    format!(
        ":root {{ --brand: {brand}; --on-brand: {on_brand}; --brand-text: {text_on_light}; }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ --brand-text: {text_on_dark}; }} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::colour::{ON_DARK, ON_LIGHT};
    use crate::http::pages::frame::STYLE;

    #[test]
    fn the_colours_are_those_that_the_style_has_room_for() {
        let style = style(Palette::of(Colour::new(0xff, 0xe6, 0)));
        for name in ["--brand:", "--on-brand:", "--brand-text:"] {
            assert!(style.contains(name) && STYLE.contains(name), "{name}");
        }
    }

    #[test]
    fn what_text_stands_on_is_what_it_was_measured_against() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
        for (part, [page, raised]) in [(light, ON_LIGHT), (dark, ON_DARK)] {
            assert!(part.contains(&format!("--page: {page};")), "{page}");
            assert!(part.contains(&format!("--raised: {raised};")), "{raised}");
        }
    }

    #[test]
    fn the_style_s_own_colours_can_be_read_too() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
        let of = |part: &str, name: &str| {
            let value = part.split(&format!("  {name}: ")).nth(1).and_then(|rest| rest.split(';').next());
            Colour::parse(value.unwrap()).unwrap()
        };
        for (part, grounds) in [(light, ON_LIGHT), (dark, ON_DARK)] {
            for name in ["--text", "--quiet", "--bad", "--good", "--brand-text"] {
                for ground in grounds {
                    assert!(of(part, name).contrast(ground) >= 4.5, "{name} on {ground}");
                }
            }
            // Edges that tell where a field is need less (WCAG 2.2, success criterion 1.4.11).
            assert!(grounds.iter().all(|ground| of(part, "--edge").contrast(*ground) >= 3.0));
            assert!(of(part, "--on-brand").contrast(of(part, "--brand")) >= 4.5);
        }
    }
}
