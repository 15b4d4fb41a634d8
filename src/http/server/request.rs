//! A request as the nouns decode it: parameters, query, header fields and body, each read once and strictly.

use std::net::{IpAddr, SocketAddr};

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Uri, Version};
use ipnet::IpNet;
use percent_encoding::percent_decode_str;

use super::fields::Fields;
use super::form::Form;
use super::language::Language;
use super::unknown::UnknownMembers;
use crate::domain::host;
use crate::domain::refusal::Refusal;
use crate::domain::session::RequestOrigin;
use crate::domain::text;
use crate::domain::usage::USER_AGENT_CHARACTERS_MAX;
use crate::interchange::json;

/// The longest target.
pub(in crate::http) const URI_BYTES_MAX: usize = 8 * 1_024;

/// The most bytes of header fields, names and values with their `: ` and line end.
pub(in crate::http) const HEADER_BYTES_MAX: usize = 16 * 1_024;

/// The largest body, but where a route says otherwise.
pub(in crate::http) const BODY_BYTES_MAX: usize = 128 * 1_024;

/// A request whose head was read, and whose body too once it is there.
pub(crate) struct Request {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    params: Vec<(String, String)>,
    body: Option<Bytes>,
    form: Option<Form>,
    client: IpAddr,
    unknown: UnknownMembers,
}

impl Request {
    pub(in crate::http) fn new(parts: Parts, params: Vec<(String, String)>, client: IpAddr) -> Self {
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let (method, headers, unknown) = (parts.method, parts.headers, UnknownMembers::default());
        Self { method, path, query, headers, params, body: None, form: None, client, unknown }
    }

    /// The same with its body, which can be read only once.
    pub(in crate::http) fn with_body(&self, body: Bytes) -> Self {
        self.with(body, None)
    }

    /// The same with its body as the form that it is.
    pub(in crate::http) fn with_form(&self, form: Form) -> Self {
        self.with(Bytes::new(), Some(form))
    }

    fn with(&self, body: Bytes, form: Option<Form>) -> Self {
        let Self { method, path, query, headers, params, client, .. } = self;
        let (method, path, query) = (method.clone(), path.clone(), query.clone());
        Self {
            method,
            path,
            query,
            headers: headers.clone(),
            params: params.clone(),
            body: Some(body),
            form,
            client: *client,
            unknown: UnknownMembers::default(),
        }
    }

    /// Whether its body was read.
    pub(in crate::http) fn has_body(&self) -> bool {
        self.body.is_some()
    }

    pub(in crate::http) fn method(&self) -> &Method {
        &self.method
    }

    /// The raw path, without the query.
    pub(in crate::http) fn path(&self) -> &str {
        &self.path
    }

    /// The raw query.
    pub(in crate::http) fn raw_query(&self) -> &str {
        &self.query
    }

    /// Its body as it came; empty where there is none, or it is not read.
    pub(in crate::http) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// The form that it sent; `None` where it sent something else, which only a route that reads that is told.
    pub(in crate::http) fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }

    /// Who sent it: the peer, or what a trusted proxy says of it.
    pub(in crate::http) fn client(&self) -> IpAddr {
        self.client
    }

    /// A path parameter, decoded. A route's template has it, so it is there.
    pub(in crate::http) fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Its fields.
    pub(in crate::http) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Every value of a field. Bytes that are no UTF-8 are replaced: a value that cannot be read is told all the same,
    /// so a credential of such bytes is a bad one and not none.
    pub(in crate::http) fn header_values(&self, name: &HeaderName) -> Vec<String> {
        let values = self.headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// Every cookie, by its name. Split at `;` and nowhere else (RFC 6265 §5.4): a comma belongs to a value, which another
    /// host may have set.
    pub(in crate::http) fn cookies(&self) -> Vec<(String, String)> {
        let fields = self.header_values(&header::COOKIE);
        let pairs = fields.iter().flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Every value of a field that is a list, joined as RFC 9110 §5.3 has it.
    pub(in crate::http) fn header_list(&self, name: &HeaderName) -> Option<String> {
        let values = self.header_values(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The user agent, as the usage log has it.
    pub(in crate::http) fn user_agent(&self) -> String {
        user_agent(&self.headers)
    }

    /// Where it says that it comes from.
    pub(in crate::http) fn origin(&self) -> RequestOrigin<'_> {
        let site = HeaderName::from_static("sec-fetch-site");
        // A field that is there twice, or cannot be read, is told all the same, and is no origin of ours.
        let told = |name: HeaderName| {
            let mut values = self.headers.get_all(name).iter();
            let first = values.next()?.to_str().ok();
            Some(first.filter(|_| values.next().is_none()).unwrap_or("?"))
        };
        RequestOrigin { sec_fetch_site: told(site), origin: told(header::ORIGIN) }
    }

    /// A query parameter, decoded, with `+` read as a space (WHATWG URL, form-urlencoded).
    ///
    /// # Errors
    /// `validation_error` where it is there twice.
    pub(in crate::http) fn query(&self, name: &str) -> Result<Option<String>, Refusal> {
        let mut values = form_urlencoded::parse(self.query.as_bytes()).filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        if values.next().is_some() {
            return Err(Refusal::invalid(name, "must be there once, not twice"));
        }
        Ok(value)
    }

    /// The language that it gets: the one that its query names (`lang`, or a signup link's `locale`), else the best that its
    /// browser wants.
    ///
    /// # Errors
    /// `validation_error` where a parameter is there twice.
    pub(in crate::http) fn language(&self) -> Result<Language, Refusal> {
        let (lang, locale) = (self.query("lang")?, self.query("locale")?);
        Ok(Language::negotiate(lang.or(locale).as_deref(), &self.headers))
    }

    /// Whether it is only to be tried: the query's `dryRun`.
    ///
    /// # Errors
    /// `validation_error` where that is neither `true` nor `false`, or there twice.
    pub(in crate::http) fn is_dry_run(&self) -> Result<bool, Refusal> {
        match self.query("dryRun")?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::invalid("dryRun", "must be true or false")),
        }
    }

    /// The members of its body that its endpoint does not know, once the handler's first half has read it.
    pub(in crate::http) fn unknown(&self) -> &UnknownMembers {
        &self.unknown
    }

    /// The body's object. An absent or empty body is an empty object.
    ///
    /// # Errors
    /// `unsupported_media_type` for another type than JSON; `bad_request` where it is not JSON, not UTF-8, not an
    /// object, or has a member twice.
    pub(in crate::http) fn object(&self) -> Result<Fields, Refusal> {
        self.unknown.clear();
        let Some(body) = self.body.as_ref().filter(|body| !body.is_empty()) else { return Ok(Fields::default()) };
        self.require_json()?;
        let value = json::parse(body)
            .map_err(|error| Refusal::bad_request(format!("the body cannot be read as JSON: {error}")))?;
        match value {
            serde_json::Value::Object(object) => Ok(Fields::of_body(object, self.unknown.clone())),
            _ => Err(Refusal::bad_request("the body must be a JSON object")),
        }
    }

    fn require_json(&self) -> Result<(), Refusal> {
        let Some(value) = self.headers.get(header::CONTENT_TYPE) else { return Ok(()) };
        let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        let media_type = media_type.trim().to_ascii_lowercase();
        let is_json = media_type == "application/json"
            || media_type.strip_prefix("application/").is_some_and(|sub| sub.len() > 5 && sub.ends_with("+json"));
        if is_json { Ok(()) } else { Err(Refusal::UnsupportedMediaType) }
    }
}

/// Looks at a head before anything else does.
///
/// # Errors
/// `uri_too_long`, `headers_too_large`; more than 100 fields hyper has refused by then. `bad_request` for HTTP/1.1 without
/// exactly one `Host`, and for any `Host` with an invalid value (RFC 9112 §3.2).
pub(in crate::http) fn check_head(uri: &Uri, headers: &HeaderMap, version: Version) -> Result<(), Refusal> {
    let scheme_bytes = uri.scheme_str().map_or(0, |scheme| scheme.len() + "://".len());
    let authority_bytes = uri.authority().map_or(0, |authority| authority.as_str().len());
    let target_bytes = uri.path_and_query().map_or(0, |target| target.as_str().len());
    let uri_bytes = scheme_bytes + authority_bytes + target_bytes;
    if uri_bytes > URI_BYTES_MAX {
        return Err(Refusal::UriTooLong(URI_BYTES_MAX));
    }
    let header_bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if header_bytes > HEADER_BYTES_MAX {
        return Err(Refusal::HeadersTooLarge);
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() || (host.is_none() && version == Version::HTTP_11) {
        return Err(Refusal::bad_request("the request must have exactly one Host field"));
    }
    if host.is_some_and(|host| !host::is_valid_host(host.as_bytes())) {
        return Err(Refusal::bad_request("the Host field must be a host name or an address, with or without a port"));
    }
    Ok(())
}

/// Checks that a body can only be delimited in one way. hyper reads every list that ends in `chunked` as if it were that
/// alone; a proxy in front may read it otherwise, and then the two disagree on where the next request begins.
///
/// # Errors
/// `bad_request` for a `Transfer-Encoding` other than one final `chunked` (RFC 9112 §6.1).
pub(in crate::http) fn check_framing(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if codings.next().is_some() || !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") {
        return Err(Refusal::bad_request("Transfer-Encoding must be chunked, once, and nothing else"));
    }
    Ok(())
}

/// The user agent, cut; empty where there is none. Bytes that are no UTF-8 are replaced.
pub(in crate::http) fn user_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    text::cut(&agent.unwrap_or_default(), USER_AGENT_CHARACTERS_MAX).to_owned()
}

/// A path parameter as it was sent, decoded once.
///
/// # Errors
/// `not_found` where the decoded bytes are no UTF-8.
pub(in crate::http) fn decode_param(raw: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(raw).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Refusal::NotFound("there is nothing at this path"))
}

/// The address a request came from: the peer's, or, where that is a trusted proxy, the rightmost address of
/// `X-Forwarded-For` that is not one. An entry that is no address ends the search: what stands left of it cannot be
/// believed.
pub(in crate::http) fn client(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.ip().to_canonical();
    // A value with bytes that are no text is still one: to pass over it would believe what stands left of it.
    let values = headers.get_all("x-forwarded-for").iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let values: Vec<_> = values.collect();
    let entries = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    // Empty elements of a list mean nothing (RFC 9110 §5.6.1).
    for entry in entries.filter(|entry| !entry.is_empty()).rev() {
        if !is_trusted(&client) {
            break;
        }
        match forwarded_address(entry) {
            Some(address) => client = address,
            None => break,
        }
    }
    client
}

/// Whether a peer that is not trusted says for whom it asks.
pub(in crate::http) fn is_forwarded_by_stranger(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    const FORWARDING: [&str; 3] = ["x-forwarded-for", "forwarded", "x-real-ip"];
    let peer = peer.ip().to_canonical();
    FORWARDING.iter().any(|name| headers.contains_key(*name)) && !trusted.iter().any(|network| network.contains(&peer))
}

/// An address with or without a port, in brackets or not.
fn forwarded_address(entry: &str) -> Option<IpAddr> {
    let plain = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = plain.parse().or_else(|_| entry.parse::<SocketAddr>().map(|with_port| with_port.ip())).ok()?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.as_bytes().try_into().unwrap());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        client(SocketAddr::new(peer.parse().unwrap(), 1), &headers, &trusted).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_from_the_right() {
        assert_eq!(seen("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(seen("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(seen("10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9, 198.51.100.7, 10.0.0.2"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9", "198.51.100.7"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["10.0.0.3"]), "10.0.0.3");
        assert_eq!(seen("10.0.0.1", &["198.51.100.7, ,"]), "198.51.100.7");
        assert_eq!(seen("::ffff:10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9, unknown"]), "10.0.0.1");
        assert_eq!(seen("::1", &["198.51.100.7:5555"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9", "ä, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(seen("10.0.0.1", &["203.0.113.9", "ä"]), "10.0.0.1");
    }
}
