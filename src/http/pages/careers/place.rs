//! Where a role is, for machines: what can honestly be read from the one line that people wrote.
//!
//! A line is `Bremen`, `Bremen, Germany`, `Germany / Austria`, `Remote`. Only a country's name at its end is understood; a
//! code is not, since many are states too (`San Francisco, CA`).

/// What a line about a place says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::http) struct Place<'a> {
    /// The town, or whatever stands first; empty where there is none.
    pub(in crate::http) locality: &'a str,
    /// What stands between it and the country.
    pub(in crate::http) region: &'a str,
    /// The country (ISO 3166-1 alpha-2).
    pub(in crate::http) country: Option<&'static str>,
}

/// Names of countries in the languages that pages speak, by code.
const COUNTRIES: &[(&str, &str)] = &[
    ("AE", "united arab emirates|vereinigte arabische emirate|émirats arabes unis|emiratos árabes unidos|uae"),
    ("AR", "argentina|argentinien|argentine"),
    ("AT", "austria|österreich|autriche"),
    ("AU", "australia|australien|australie"),
    ("BE", "belgium|belgien|belgique|bélgica|belgië"),
    ("BG", "bulgaria|bulgarien|bulgarie"),
    ("BR", "brazil|brasilien|brésil|brasil"),
    ("CA", "canada|kanada|canadá"),
    ("CH", "switzerland|schweiz|suisse|suiza|svizzera"),
    ("CL", "chile|chili"),
    ("CN", "china|chine"),
    ("CO", "colombia|kolumbien|colombie"),
    ("CY", "cyprus|zypern|chypre|chipre"),
    ("CZ", "czechia|czech republic|tschechien|tchéquie|chequia"),
    ("DE", "germany|deutschland|allemagne|alemania"),
    ("DK", "denmark|dänemark|danemark|dinamarca|danmark"),
    ("EE", "estonia|estland|estonie"),
    ("EG", "egypt|ägypten|égypte|egipto"),
    ("ES", "spain|spanien|espagne|españa"),
    ("FI", "finland|finnland|finlande|finlandia|suomi"),
    ("FR", "france|frankreich|francia"),
    ("GB", "united kingdom|vereinigtes königreich|royaume-uni|reino unido|great britain|uk|england|scotland|wales"),
    ("GR", "greece|griechenland|grèce|grecia"),
    ("HR", "croatia|kroatien|croatie|croacia|hrvatska"),
    ("HU", "hungary|ungarn|hongrie|hungría"),
    ("IE", "ireland|irland|irlande|irlanda"),
    ("IL", "israel|israël"),
    ("IN", "india|indien|inde"),
    ("IS", "iceland|island|islande|islandia"),
    ("IT", "italy|italien|italie|italia"),
    ("JP", "japan|japon|japón"),
    ("KR", "south korea|südkorea|corée du sud|corea del sur"),
    ("LI", "liechtenstein"),
    ("LT", "lithuania|litauen|lituanie|lituania"),
    ("LU", "luxembourg|luxemburg|luxemburgo"),
    ("LV", "latvia|lettland|lettonie|letonia"),
    ("MA", "morocco|marokko|maroc|marruecos"),
    ("MT", "malta|malte"),
    ("MX", "mexico|mexiko|mexique|méxico"),
    ("NL", "netherlands|the netherlands|niederlande|pays-bas|países bajos|nederland"),
    ("NO", "norway|norwegen|norvège|noruega|norge"),
    ("NZ", "new zealand|neuseeland|nouvelle-zélande|nueva zelanda"),
    ("PE", "peru|pérou|perú"),
    ("PL", "poland|polen|pologne|polonia|polska"),
    ("PT", "portugal"),
    ("RO", "romania|rumänien|roumanie|rumania|românia"),
    ("RS", "serbia|serbien|serbie"),
    ("SE", "sweden|schweden|suède|suecia|sverige"),
    ("SG", "singapore|singapur|singapour"),
    ("SI", "slovenia|slowenien|slovénie|eslovenia"),
    ("SK", "slovakia|slowakei|slovaquie|eslovaquia"),
    ("TR", "turkey|türkiye|türkei|turquie|turquía"),
    ("UA", "ukraine|ucrania"),
    ("US", "united states|united states of america|usa|vereinigte staaten|états-unis|estados unidos"),
    ("ZA", "south africa|südafrika|afrique du sud|sudáfrica"),
];

/// What is written where there is no place.
const NOWHERE: &str = "remote|fully remote|100% remote|anywhere|worldwide|global|home office|homeoffice|weltweit|télétravail|à distance|\
                       remoto|teletrabajo|en remoto";

/// What stands before a place that people need not be at.
const ANYWHERE: &[&str] =
    &["anywhere in ", "remote in ", "remote, ", "remote - ", "remote – ", "überall in ", "partout en ", "desde "];

/// What stands between the countries of a list.
const BETWEEN: &[&str] = &[",", ";", "|", " or ", " and ", " oder ", " und ", " ou ", " et ", " o ", " y ", " & "];

impl<'a> Place<'a> {
    /// The place that a line names; `None` for one that names none.
    pub(in crate::http) fn read(line: &'a str) -> Option<Self> {
        let line = without_anywhere(line);
        if line.is_empty() || is_one_of(NOWHERE, line) {
            return None;
        }
        let (rest, last) = line.rsplit_once(',').map_or(("", line), |(rest, last)| (rest.trim(), last.trim()));
        let Some(country) = country(last) else { return Some(Self { locality: line, ..Self::default() }) };
        let (locality, region) = rest.split_once(',').unwrap_or((rest, ""));
        Some(Self { locality: locality.trim(), region: region.trim(), country: Some(country) })
    }
}

/// The countries that a line is a list of: `Germany`, `Anywhere in Germany or Austria`. None where it names anything else.
pub(in crate::http) fn countries(line: &str) -> Vec<&'static str> {
    let mut names = without_anywhere(line).to_lowercase();
    for between in BETWEEN {
        names = names.replace(between, "/");
    }
    let all: Option<Vec<_>> = names.split('/').map(|name| country(name.trim())).collect();
    all.unwrap_or_default()
}

/// A line without what only says that the work is done from anywhere.
fn without_anywhere(line: &str) -> &str {
    let line = line.trim();
    let behind = |before: &&str| {
        let (end, _) = line.char_indices().nth(before.chars().count())?;
        let (begin, rest) = line.split_at(end);
        (begin.to_lowercase() == **before).then_some(rest)
    };
    let line = ANYWHERE.iter().find_map(behind).unwrap_or(line);
    line.strip_suffix("(remote)").or_else(|| line.strip_suffix("(Remote)")).unwrap_or(line).trim()
}

/// A country by its name.
fn country(name: &str) -> Option<&'static str> {
    COUNTRIES.iter().find(|(_, names)| is_one_of(names, name)).map(|(code, _)| *code)
}

fn is_one_of(names: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    names.split('|').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_the_line_says_and_no_more() {
        let place = |locality, region, country| Some(Place { locality, region, country });
        for (line, expected) in [
            ("Bremen", place("Bremen", "", None)),
            (" Rostock, Germany ", place("Rostock", "", Some("DE"))),
            ("Zürich, ZH, Schweiz", place("Zürich", "ZH", Some("CH"))),
            ("Genève,  SUISSE", place("Genève", "", Some("CH"))),
            ("Österreich", place("", "", Some("AT"))),
            ("San Francisco, CA", place("San Francisco, CA", "", None)),
            ("Wilmington, DE", place("Wilmington, DE", "", None)),
            ("Germany / Austria", place("Germany / Austria", "", None)),
            ("Anywhere in Germany", place("", "", Some("DE"))),
            ("Überall in Bayern, Deutschland", place("Bayern", "", Some("DE"))),
            ("Remote, Germany", place("", "", Some("DE"))),
            ("AnyWhere In Germany", place("", "", Some("DE"))),
            // The Kelvin sign is lower-cased to a letter of another length.
            ("\u{212a}öln", place("\u{212a}öln", "", None)),
            ("Bremen (Remote)", place("Bremen", "", None)),
            ("<b>, Germany", place("<b>", "", Some("DE"))),
            ("", None),
            ("  ", None),
            ("Remote", None),
            ("Anywhere", None),
        ] {
            assert_eq!(Place::read(line), expected, "{line}");
        }
    }

    #[test]
    fn a_list_of_countries_has_nothing_else_in_it() {
        assert_eq!(countries("Germany"), ["DE"]);
        assert_eq!(countries("Deutschland / Österreich, Suisse"), ["DE", "AT", "CH"]);
        assert_eq!(countries("Anywhere in Germany or Austria"), ["DE", "AT"]);
        assert_eq!(countries("Remote – France et Espagne"), ["FR", "ES"]);
        for line in ["", "Remote", "Bremen", "Bremen, Germany", "Germany or Bremen", "Europe"] {
            assert_eq!(countries(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn no_name_is_two_countries() {
        let mut names: Vec<&str> = COUNTRIES.iter().flat_map(|(_, names)| names.split('|')).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]));
        assert!(names.iter().all(|name| *name == name.to_lowercase()));
    }
}
