//! Parses the location of a role, one line of free text, into machine-readable parts.
//!
//! Lines look like `Bremen`, `Bremen, Germany`, `Germany / Austria` or `Remote`. The parser recognizes a country by its
//! name at the end of the line. It does not recognize ISO country codes, because many are also state codes (`San
//! Francisco, CA`).

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct JobLocation<'a> {
    /// The town, or any other text at the beginning of the line; may be empty.
    pub(super) locality: &'a str,
    /// The text between the locality and the country; may be empty.
    pub(super) region: &'a str,
    /// The country's code (ISO 3166-1 alpha-2).
    pub(super) country: Option<&'static str>,
}

/// Country codes with the countries' names in the languages of the pages, and some local names, in lower case.
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

/// Lines that do not name a place, in lower case.
const NOT_A_PLACE: &str = "remote|fully remote|100% remote|anywhere|worldwide|global|home office|homeoffice|weltweit|télétravail|à distance|\
                       remoto|teletrabajo|en remoto";

/// Prefixes before the name of a region in which a remote worker may live, in lower case.
const REMOTE_PREFIXES: &[&str] =
    &["anywhere in ", "remote in ", "remote, ", "remote - ", "remote – ", "überall in ", "partout en ", "desde "];

/// Separators between the countries in a list, in addition to `/`.
const SEPARATORS: &[&str] = &[",", ";", "|", " or ", " and ", " oder ", " und ", " ou ", " et ", " o ", " y ", " & "];

impl<'a> JobLocation<'a> {
    /// Parses a line. Returns `None` if the line does not name a place.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let line = without_remote(line);
        if line.is_empty() || is_one_of(NOT_A_PLACE, line) {
            return None;
        }
        let (rest, last) = line.rsplit_once(',').map_or(("", line), |(rest, last)| (rest.trim(), last.trim()));
        let Some(country) = country(last) else { return Some(Self { locality: line, ..Self::default() }) };
        let (locality, region) = rest.split_once(',').unwrap_or((rest, ""));
        Some(Self { locality: locality.trim(), region: region.trim(), country: Some(country) })
    }
}

/// Parses a list of countries, such as `Germany` or `Anywhere in Germany or Austria`, and returns their codes. Returns
/// an empty list if the line names anything else.
pub(super) fn parse_countries(line: &str) -> Vec<&'static str> {
    let mut names = without_remote(line).to_lowercase();
    for separator in SEPARATORS {
        names = names.replace(separator, "/");
    }
    let all: Option<Vec<_>> = names.split('/').map(|name| country(name.trim())).collect();
    all.unwrap_or_default()
}

/// Removes a prefix and a suffix that state only that the work is remote.
fn without_remote(line: &str) -> &str {
    let line = line.trim();
    let after_prefix = |prefix: &&str| {
        let (end, _) = line.char_indices().nth(prefix.chars().count())?;
        let (begin, rest) = line.split_at(end);
        (begin.to_lowercase() == **prefix).then_some(rest)
    };
    let line = REMOTE_PREFIXES.iter().find_map(after_prefix).unwrap_or(line);
    line.strip_suffix("(remote)").or_else(|| line.strip_suffix("(Remote)")).unwrap_or(line).trim()
}

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
    fn locations_contain_only_facts_from_the_line() {
        let location = |locality, region, country| Some(JobLocation { locality, region, country });
        for (line, expected) in [
            ("Bremen", location("Bremen", "", None)),
            (" Rostock, Germany ", location("Rostock", "", Some("DE"))),
            ("Zürich, ZH, Schweiz", location("Zürich", "ZH", Some("CH"))),
            ("Genève,  SUISSE", location("Genève", "", Some("CH"))),
            ("Österreich", location("", "", Some("AT"))),
            ("San Francisco, CA", location("San Francisco, CA", "", None)),
            ("Wilmington, DE", location("Wilmington, DE", "", None)),
            ("Germany / Austria", location("Germany / Austria", "", None)),
            ("Anywhere in Germany", location("", "", Some("DE"))),
            ("Überall in Bayern, Deutschland", location("Bayern", "", Some("DE"))),
            ("Remote, Germany", location("", "", Some("DE"))),
            ("AnyWhere In Germany", location("", "", Some("DE"))),
            // The lowercase form of the Kelvin sign has a different length.
            ("\u{212a}öln", location("\u{212a}öln", "", None)),
            ("Bremen (Remote)", location("Bremen", "", None)),
            ("<b>, Germany", location("<b>", "", Some("DE"))),
            ("", None),
            ("  ", None),
            ("Remote", None),
            ("Anywhere", None),
        ] {
            assert_eq!(JobLocation::parse(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_is_a_list_of_countries_only_if_every_part_is_a_country() {
        assert_eq!(parse_countries("Germany"), ["DE"]);
        assert_eq!(parse_countries("Deutschland / Österreich, Suisse"), ["DE", "AT", "CH"]);
        assert_eq!(parse_countries("Anywhere in Germany or Austria"), ["DE", "AT"]);
        assert_eq!(parse_countries("Remote – France et Espagne"), ["FR", "ES"]);
        for line in ["", "Remote", "Bremen", "Bremen, Germany", "Germany or Bremen", "Europe"] {
            assert_eq!(parse_countries(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn country_names_are_unique_and_in_lower_case() {
        let mut names: Vec<&str> = COUNTRIES.iter().flat_map(|(_, names)| names.split('|')).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]));
        assert!(names.iter().all(|name| *name == name.to_lowercase()));
    }
}
