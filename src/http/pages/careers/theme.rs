//! `GET /careers/{orgSlug}/theme.css`: an organization's colours, as CSS variables for the stylesheet in
//! `pages::asset`.

use crate::domain::colour::Palette;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::{self, Error, Tx};
use hyper::Method;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Api, Method::GET, "/careers/{orgSlug}/theme.css", portal::decode_slug, theme)
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, ""), (404, "not_found")]),
    ]
}

/// `GET /careers/{orgSlug}/theme.css`: returns the organization's colours.
///
/// # Errors
/// `not_found` if no organization has this slug, or if the organization or its portal is disabled.
fn theme(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = portal::organization(tx, slug.as_ref())?;
    let style = organization.theme.primary_color().map(|colour| style(Palette::of(colour))).unwrap_or_default();
    let read_at = store::change_number::portals(tx)?;
    Ok(Reply::tagged_file("text/css; charset=utf-8", style).valid_until_change(organization.id, read_at))
}

/// Renders an organization's colours for light and dark mode. If `theme.css` is missing or empty, browsers show the
/// service's default colours.
fn style(Palette { brand, on_brand, text_on_light, text_on_dark }: Palette) -> String {
    format!(
        ":root {{ --brand: {brand}; --on-brand: {on_brand}; --brand-text: {text_on_light}; }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ --brand-text: {text_on_dark}; }} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::colour::{Colour, ON_DARK, ON_LIGHT};
    use crate::http::pages::asset::STYLE;

    #[test]
    fn the_theme_sets_variables_that_the_stylesheet_uses() {
        let style = style(Palette::of(Colour::new(0xff, 0xe6, 0)));
        for name in ["--brand:", "--on-brand:", "--brand-text:"] {
            assert!(style.contains(name) && STYLE.contains(name), "{name}");
        }
    }

    #[test]
    fn the_stylesheet_has_the_backgrounds_that_contrast_is_computed_against() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
        for (part, [page, raised]) in [(light, ON_LIGHT), (dark, ON_DARK)] {
            assert!(part.contains(&format!("--page: {page};")), "{page}");
            assert!(part.contains(&format!("--raised: {raised};")), "{raised}");
        }
    }

    #[test]
    fn the_default_colours_have_enough_contrast() {
        let (light, dark) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
        let colour = |part: &str, name: &str| {
            let value = part.split(&format!("  {name}: ")).nth(1).and_then(|rest| rest.split(';').next());
            Colour::parse(value.unwrap()).unwrap()
        };
        for (part, backgrounds) in [(light, ON_LIGHT), (dark, ON_DARK)] {
            for name in ["--text", "--quiet", "--bad", "--good", "--brand-text"] {
                for background in backgrounds {
                    assert!(colour(part, name).contrast(background) >= 4.5, "{name} on {background}");
                }
            }
            // The edges of fields need less contrast than text (WCAG 2.2, success criterion 1.4.11).
            assert!(backgrounds.iter().all(|background| colour(part, "--edge").contrast(*background) >= 3.0));
            assert!(colour(part, "--on-brand").contrast(colour(part, "--brand")) >= 4.5);
        }
    }
}
