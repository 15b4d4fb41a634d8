//! Content negotiation: whether a caller wants a gzip-encoded body.

/// The maximum number of elements in `Accept-Encoding` that are checked, which is more than any browser sends.
const ELEMENTS_MAX: usize = 32;

/// Returns whether a caller accepts gzip at least as readily as an unencoded body (RFC 9110 §12.5.3). The values of
/// several `Accept-Encoding` fields form one list. Without an `Accept-Encoding` field, the body is not encoded.
pub fn wants_gzip<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    let (mut gzip, mut identity, mut others) = (None, None, None);
    for element in values.flat_map(|value| value.split(',')).take(ELEMENTS_MAX) {
        let (coding, parameter) = element.split_once(';').unwrap_or((element, ""));
        let coding = coding.trim();
        let slot = match () {
            () if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") => &mut gzip,
            () if coding.eq_ignore_ascii_case("identity") => &mut identity,
            () if coding == "*" => &mut others,
            () => continue,
        };
        *slot = Some(weight(parameter));
    }
    // If the list does not name gzip, gzip has the weight of `*`. If it does not name `identity`, an unencoded body has
    // the lowest weight.
    let gzip = gzip.or(others).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// Returns the weight of an element, from 0 to 1 (RFC 9110 §12.4.2). An invalid weight is treated as 0, because it
/// does not show that the caller accepts the coding.
fn weight(parameter: &str) -> f32 {
    let parameter = parameter.trim();
    if parameter.is_empty() {
        return 1.0;
    }
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    let value = value.trim();
    let is_decimal = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let weight =
        value.parse().ok().filter(|weight| name.trim().eq_ignore_ascii_case("q") && is_decimal && *weight <= 1.0);
    weight.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_if_the_caller_accepts_it() {
        for (values, expected) in [
            (&[][..], false),
            (&[""], false),
            (&["gzip"], true),
            (&["gzip, deflate, br, zstd"], true),
            (&["br", "GZIP"], true),
            (&["x-gzip"], true),
            (&["deflate, br"], false),
            (&["gzipped"], false),
            (&["*"], true),
            (&["*;q=0"], false),
            (&["br, *;q=0.1"], true),
            (&["gzip;q=0"], false),
            (&["gzip;q=0, *"], false),
            (&["gzip ; q=0.000"], false),
            (&["gzip;Q=0.001"], true),
            (&["gzip;q=0.5, identity"], false),
            (&["gzip;q=0.5, identity;q=0.5"], true),
            (&["identity;q=0.5, *;q=1"], true),
            (&["identity;q=0, gzip;q=0"], false),
            (&["identity;q=0"], false),
            (&["gzip;q=x"], false),
            (&["gzip;q=1.001"], false),
            (&["gzip;q=-1"], false),
            (&["gzip;q=inf"], false),
            (&["gzip;q="], false),
            (&["gzip;level=9"], false),
            (&[", ,gzip"], true),
        ] {
            assert_eq!(wants_gzip(values.iter().copied()), expected, "{values:?}");
        }
    }
}
