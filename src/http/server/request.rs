//! A request as handlers decode it: parameters, query, header fields and body.

use std::net::{IpAddr, SocketAddr};

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Uri, Version};
use ipnet::IpNet;
use percent_encoding::percent_decode_str;

use super::body_fields::BodyFields;
use super::form::Form;
use super::language::Language;
use super::reply::page::StaffRequest;
use super::unknown_members::UnknownMembers;
use crate::domain::entity_tag::{IF_MATCH_MUST_BE, IfMatch};
use crate::domain::host;
use crate::domain::id::Id;
use crate::domain::refusal::Refusal;
use crate::domain::session::RequestOrigin;
use crate::domain::text;
use crate::domain::usage::USER_AGENT_CHARACTERS_MAX;
use crate::interchange::json;

/// The maximum size of a request target, in bytes.
pub(super) const URI_BYTES_MAX: usize = 8 * 1_024;

/// The maximum total size of the header fields, in bytes, including the `: ` and the line end of each field.
pub(super) const HEADER_BYTES_MAX: usize = 16 * 1_024;

/// The maximum size of a body, in bytes, unless a route has its own limit.
pub(super) const BODY_BYTES_MAX: usize = 128 * 1_024;

/// A request whose head has been read. The body is added after it has been read.
pub(crate) struct Request {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    params: Vec<(String, String)>,
    body: Option<Bytes>,
    form: Option<Form>,
    client: IpAddr,
    unknown_members: UnknownMembers,
}

impl Request {
    pub(in crate::http) fn new(parts: Parts, params: Vec<(String, String)>, client: IpAddr) -> Self {
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let (method, headers, unknown_members) = (parts.method, parts.headers, UnknownMembers::default());
        Self { method, path, query, headers, params, body: None, form: None, client, unknown_members }
    }

    /// Returns a copy of the request with this body.
    pub(in crate::http) fn with_body(&self, body: Bytes) -> Self {
        self.with(body, None)
    }

    /// Returns a copy of the request with this form as its body.
    pub(super) fn with_form(&self, form: Form) -> Self {
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
            unknown_members: UnknownMembers::default(),
        }
    }

    pub(super) fn has_body(&self) -> bool {
        self.body.is_some()
    }

    pub(in crate::http) fn method(&self) -> &Method {
        &self.method
    }

    pub(in crate::http) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn raw_query(&self) -> &str {
        &self.query
    }

    /// Returns the raw body, which is empty if the request has none, if it was not read, or if it is a form.
    pub(in crate::http) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    /// Returns the form, or `None` if the body is not a form or was not read. In a handler of a route that accepts only
    /// forms, the result is never `None`.
    pub(in crate::http) fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }

    /// Returns the client's address: the peer, or the address that a trusted proxy names.
    pub(in crate::http) fn client(&self) -> IpAddr {
        self.client
    }

    /// Returns a decoded path parameter, which is empty if the route's template does not contain it.
    pub(in crate::http) fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Parses a path parameter that is an id. A value that cannot be an id is treated as the id of a missing resource.
    ///
    /// # Errors
    /// `absent` if the value cannot be an id.
    pub(in crate::http) fn id_param<I: Id>(&self, name: &str, absent: Refusal) -> Result<I, Refusal> {
        I::parse(self.param(name)).ok_or(absent)
    }

    pub(in crate::http) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns every value of a header field. Bytes that are not UTF-8 are replaced, so that a credential that contains
    /// them is invalid rather than missing.
    pub(super) fn header_values(&self, name: &HeaderName) -> Vec<String> {
        let values = self.headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// Returns every cookie with its name. Cookies are split only at `;` (RFC 6265 §5.4): a comma belongs to a value.
    /// If a comma separated cookies, another host could hide a second cookie in the value of the first.
    pub(in crate::http) fn cookies(&self) -> Vec<(String, String)> {
        let fields = self.header_values(&header::COOKIE);
        let pairs = fields.iter().flat_map(|field| field.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Returns the values of a list field, joined as in RFC 9110 §5.3.
    pub(super) fn header_list(&self, name: &HeaderName) -> Option<String> {
        let values = self.header_values(name);
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Returns the condition of `If-Match`; `None` if the request has no such field.
    ///
    /// # Errors
    /// `validation_error` if the field is neither `*` nor a list of entity tags.
    pub(in crate::http) fn if_match(&self) -> Result<Option<IfMatch>, Refusal> {
        let invalid = || Refusal::invalid("If-Match", IF_MATCH_MUST_BE);
        let field = self.header_list(&header::IF_MATCH);
        field.map(|field| IfMatch::parse(&field).ok_or_else(invalid)).transpose()
    }

    /// Returns the user agent, truncated to the length that the usage log stores.
    pub(in crate::http) fn user_agent(&self) -> String {
        user_agent(&self.headers)
    }

    /// Returns the facts about the request that a problem page needs, without the fields of a form.
    pub(super) fn to_staff_request(&self) -> StaffRequest {
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        StaffRequest {
            is_safe: self.method.is_safe(),
            target: format!("{}{query}", self.path),
            wants_parts: self.wants_parts(),
            cookies: self.cookies(),
            fields: Vec::new(),
        }
    }

    /// Returns whether one of the console's modules sent the request and replaces parts of its page with the answer.
    pub(in crate::http) fn wants_parts(&self) -> bool {
        self.headers.contains_key(HeaderName::from_static("x-part"))
    }

    /// Returns the origin that the browser declares.
    pub(in crate::http) fn origin(&self) -> RequestOrigin<'_> {
        let site = HeaderName::from_static("sec-fetch-site");
        // A field that is repeated or unreadable is still treated as present, and matches no origin.
        let only_value = |name: HeaderName| {
            let mut values = self.headers.get_all(name).iter();
            let first = values.next()?.to_str().ok();
            Some(first.filter(|_| values.next().is_none()).unwrap_or("?"))
        };
        RequestOrigin { sec_fetch_site: only_value(site), origin: only_value(header::ORIGIN) }
    }

    /// Returns a decoded query parameter, with `+` as a space (WHATWG URL, form-urlencoded).
    ///
    /// # Errors
    /// `validation_error` if the parameter is repeated.
    pub(in crate::http) fn query(&self, name: &str) -> Result<Option<String>, Refusal> {
        let mut values = form_urlencoded::parse(self.query.as_bytes()).filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.into_owned());
        if values.next().is_some() {
            return Err(Refusal::invalid(name, "must be given only once"));
        }
        Ok(value)
    }

    /// Returns the language of the response: the language that the query names (`lang`, or `locale` in a signup link),
    /// or else the best match for `Accept-Language`.
    ///
    /// # Errors
    /// `validation_error` if `lang` or `locale` is repeated.
    pub(in crate::http) fn language(&self) -> Result<Language, Refusal> {
        let (lang, locale) = (self.query("lang")?, self.query("locale")?);
        Ok(Language::negotiate(lang.or(locale).as_deref(), &self.headers))
    }

    /// Returns whether the query asks for a dry run.
    ///
    /// # Errors
    /// `validation_error` if `dryRun` is neither `true` nor `false`, or is repeated.
    pub(in crate::http) fn is_dry_run(&self) -> Result<bool, Refusal> {
        match self.query("dryRun")?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::invalid("dryRun", "must be true or false")),
        }
    }

    /// Returns the unknown members of the body. The list is complete after the handler's `decode` has read the body.
    pub(super) fn unknown_members(&self) -> &UnknownMembers {
        &self.unknown_members
    }

    /// Parses the body as a JSON object. An absent or empty body is an empty object.
    ///
    /// # Errors
    /// `unsupported_media_type` for a type other than JSON; `bad_request` if the body is not JSON, not UTF-8, not an
    /// object, or repeats a member.
    pub(in crate::http) fn object(&self) -> Result<BodyFields, Refusal> {
        self.unknown_members.clear();
        let Some(body) = self.body.as_ref().filter(|body| !body.is_empty()) else { return Ok(BodyFields::default()) };
        self.require_json()?;
        let value = json::parse(body)
            .map_err(|error| Refusal::bad_request(format!("the body cannot be read as JSON: {error}")))?;
        match value {
            serde_json::Value::Object(object) => Ok(BodyFields::of_body(object, self.unknown_members.clone())),
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

/// Checks the head of a request before anything else.
///
/// # Errors
/// `uri_too_long`; `headers_too_large` (hyper itself has already refused more than 100 fields); `bad_request` for more
/// than one `Host`, for HTTP/1.1 without a `Host`, and for an invalid `Host` (RFC 9112 §3.2).
pub(super) fn check_head(uri: &Uri, headers: &HeaderMap, version: Version) -> Result<(), Refusal> {
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

/// Checks that the end of the body is unambiguous. hyper reads any list that ends in `chunked` as `chunked` alone. If a
/// proxy reads the list differently, the proxy and hyper disagree on where the next request begins.
///
/// # Errors
/// `bad_request` for a `Transfer-Encoding` other than `chunked` alone (RFC 9112 §6.1).
pub(super) fn check_framing(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if codings.next().is_some() || !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") {
        return Err(Refusal::bad_request("Transfer-Encoding must be chunked and nothing else"));
    }
    Ok(())
}

/// Returns the truncated user agent, which is empty if there is none. Bytes that are not UTF-8 are replaced.
pub(in crate::http) fn user_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    text::cut(&agent.unwrap_or_default(), USER_AGENT_CHARACTERS_MAX).to_owned()
}

/// Decodes a raw path parameter once.
///
/// # Errors
/// `not_found` if the decoded bytes are not UTF-8.
pub(super) fn decode_param(raw: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(raw).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| Refusal::NotFound("there is nothing at this path"))
}

/// Returns the client's address. If the peer is not a trusted proxy, this is the peer's address. Otherwise, it is the
/// rightmost address of `X-Forwarded-For` that is not a trusted proxy, or the leftmost address if all are trusted
/// proxies. An entry that is not an address ends the search at the address to its right, because no entry to its left
/// can be trusted.
pub(in crate::http) fn client(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.ip().to_canonical();
    // Keep values that are not UTF-8: skipping such a value would mean trusting the entries to its left.
    let values = headers.get_all("x-forwarded-for").iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let values: Vec<_> = values.collect();
    let entries = values.iter().flat_map(|value| value.split(',')).map(str::trim);
    // Ignore empty list elements (RFC 9110 §5.6.1).
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

/// Returns whether an untrusted peer claims to forward requests for somebody else.
pub(super) fn is_forwarded_by_untrusted_peer(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    const FORWARDING: [&str; 3] = ["x-forwarded-for", "forwarded", "x-real-ip"];
    let peer = peer.ip().to_canonical();
    FORWARDING.iter().any(|name| headers.contains_key(*name)) && !trusted.iter().any(|network| network.contains(&peer))
}

/// Parses an address, with or without a port or brackets.
fn forwarded_address(entry: &str) -> Option<IpAddr> {
    let plain = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = plain.parse().or_else(|_| entry.parse::<SocketAddr>().map(|with_port| with_port.ip())).ok()?;
    Some(IpAddr::to_canonical(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_address(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.as_bytes().try_into().unwrap());
        }
        let trusted = ["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        client(SocketAddr::new(peer.parse().unwrap(), 1), &headers, &trusted).to_string()
    }

    #[test]
    fn only_trusted_proxies_name_the_client_and_the_rightmost_untrusted_address_is_used() {
        assert_eq!(client_address("192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client_address("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client_address("10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9, 198.51.100.7, 10.0.0.2"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9", "198.51.100.7"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["10.0.0.3"]), "10.0.0.3");
        assert_eq!(client_address("10.0.0.1", &["198.51.100.7, ,"]), "198.51.100.7");
        assert_eq!(client_address("::ffff:10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9, unknown"]), "10.0.0.1");
        assert_eq!(client_address("::1", &["198.51.100.7:5555"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9", "ä, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(client_address("10.0.0.1", &["203.0.113.9", "ä"]), "10.0.0.1");
    }
}
