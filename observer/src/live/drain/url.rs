//! The endpoint's URL: what is connected to, what is asked for, and what may be shown. User name and password are
//! sent as HTTP basic authentication and never shown.

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Port of `http://` without one.
const HTTP_PORT: u16 = 80;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An `http://` URL. Shown and debugged, it has no user name, no password and no query.
#[derive(Clone, PartialEq, Eq)]
pub struct DrainUrl {
    host: String,
    port: u16,
    target: String,
    authorization: Option<(HeaderName, HeaderValue)>,
}

/// Why a text is no URL that can be downloaded from; the text itself is not repeated, it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadUrl {
    /// `https://`.
    #[error("https:// is not supported, the connection is not encrypted: give an http:// URL, or tunnel it")]
    Https,
    /// Another scheme, or none.
    #[error("not an http:// URL: give one such as http://10.0.0.5:8080/v1/ring/raw")]
    Scheme,
    /// A token with characters that no header holds.
    #[error("the token holds characters that cannot be sent: one line of visible characters is expected")]
    Token,
    /// Not a URL at all.
    #[error("not a URL: give one such as http://10.0.0.5:8080/v1/ring/raw")]
    Syntax,
}

impl DrainUrl {
    /// Another path, with or without a query, of the same server below the same prefix.
    #[must_use]
    pub fn below(&self, path: &str) -> DrainUrl {
        let prefix = self.target.trim_end_matches('/');
        let slash = if path.starts_with('/') { "" } else { "/" };
        DrainUrl { target: format!("{prefix}{slash}{path}"), ..self.clone() }
    }

    /// The same with a bearer token (RFC 6750), which is never shown, instead of name and password.
    ///
    /// # Errors
    /// [`BadUrl::Token`]: it cannot stand in a header.
    pub fn with_bearer(mut self, token: &str) -> Result<DrainUrl, BadUrl> {
        self.authorization = Some((AUTHORIZATION, secret(&format!("Bearer {token}"))?));
        Ok(self)
    }

    /// The same with a token alone in a header of this name, which is never shown either.
    ///
    /// # Errors
    /// [`BadUrl::Token`]: it, or the name, cannot stand in a header.
    pub fn with_header(mut self, name: &str, token: &str) -> Result<DrainUrl, BadUrl> {
        let name = HeaderName::try_from(name).map_err(|_| BadUrl::Token)?;
        self.authorization = Some((name, secret(token)?));
        Ok(self)
    }

    /// The URL holds a user name.
    pub fn has_user(&self) -> bool {
        self.authorization.is_some()
    }

    /// Name or address to connect to, without brackets, and the port.
    pub(super) fn endpoint(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Path and query.
    pub(super) fn target(&self) -> &str {
        &self.target
    }

    /// The header that holds the secret, when there is one: `Authorization` unless another one was named.
    pub(super) fn authorization(&self) -> Option<&(HeaderName, HeaderValue)> {
        self.authorization.as_ref()
    }

    /// Value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == HTTP_PORT { host } else { format!("{host}:{}", self.port) }
    }
}

impl FromStr for DrainUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http") => {}
            Some("https") => return Err(BadUrl::Https),
            _ => return Err(BadUrl::Scheme),
        }
        let uri: Uri = text.parse().map_err(|_| BadUrl::Syntax)?;
        let authority = uri.authority().ok_or(BadUrl::Syntax)?;
        let host = authority.host().trim_matches(['[', ']']);
        let user = authority.as_str().rsplit_once('@').map(|(user, _)| user);
        let after = authority.as_str().rsplit_once(authority.host()).map_or("", |(_, after)| after);
        let port = match (authority.port_u16(), after) {
            (Some(port), _) if port != 0 => port,
            (None, "" | ":") => HTTP_PORT,
            _ => return Err(BadUrl::Syntax),
        };
        if host.is_empty() {
            return Err(BadUrl::Syntax);
        }
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        let authorization = user.map(|user| Ok((AUTHORIZATION, basic(user)?))).transpose()?;
        Ok(DrainUrl { host: host.to_owned(), port, target, authorization })
    }
}

impl fmt::Display for DrainUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a key, too.
        let (path, query) =
            self.target.split_once('?').map_or((self.target.as_str(), ""), |(path, _)| (path, "?…"));
        write!(f, "http://{}{path}{query}", self.authority())
    }
}

impl fmt::Debug for DrainUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DrainUrl({self})")
    }
}

/// A header's value that nobody prints.
fn secret(text: &str) -> Result<HeaderValue, BadUrl> {
    let mut value = HeaderValue::from_str(text).map_err(|_| BadUrl::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Basic authentication (RFC 7617) of the user part of a URL, whose `%xx` are octets.
fn basic(user: &str) -> Result<HeaderValue, BadUrl> {
    let text = format!("Basic {}", base64(&percent_decoded(user)));
    let mut value = HeaderValue::from_str(&text).map_err(|_| BadUrl::Syntax)?;
    value.set_sensitive(true);
    Ok(value)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        octets.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { rest.get(3..).unwrap_or_default() } else { tail };
    }
    octets
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn base64(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len().div_ceil(3) * 4);
    for group in octets.chunks(3) {
        let octet = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = octet(0) << 16 | octet(1) << 8 | octet(2);
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = BASE64.get((bits >> shift & 63) as usize).filter(|_| at <= group.len());
            text.push(digit.copied().map_or('=', char::from));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> DrainUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_taken_apart() {
        for (text, host, port, target, authority) in [
            ("http://10.0.0.5:8080/v1/ring/raw", "10.0.0.5", 8080, "/v1/ring/raw", "10.0.0.5:8080"),
            ("HTTP://bench.local", "bench.local", 80, "/", "bench.local"),
            ("http://h:80?a=b@c:1", "h", 80, "/?a=b@c:1", "h"),
            ("http://[fe80::1]:81/x", "fe80::1", 81, "/x", "[fe80::1]:81"),
            ("http://[::1]/", "::1", 80, "/", "[::1]"),
            ("http://u:p@10.0.0.5/a", "10.0.0.5", 80, "/a", "10.0.0.5"),
        ] {
            let url = url(text);
            assert_eq!((url.endpoint(), url.target()), ((host, port), target), "{text}");
            assert_eq!(url.authority(), authority, "{text}");
        }
    }

    #[test]
    fn what_is_no_http_url_is_refused_with_a_reason() {
        assert_eq!("https://h/".parse::<DrainUrl>(), Err(BadUrl::Https));
        for text in ["", "h:80/x", "ftp://h/", "/v1/ring/raw", "file:///etc/hosts"] {
            assert_eq!(text.parse::<DrainUrl>(), Err(BadUrl::Scheme), "{text}");
        }
        for text in [
            "http://",
            "http:///x",
            "http://a b/",
            "http://h:0/",
            "http://h:99999/",
            "http://[::1/",
            "http://@/",
        ] {
            assert_eq!(text.parse::<DrainUrl>(), Err(BadUrl::Syntax), "{text}");
        }
    }

    #[test]
    fn credentials_are_sent_and_never_shown() {
        let url = url("http://Aladdin:open%20sesame@h:81/x");
        let (name, header) = url.authorization().unwrap();
        assert_eq!(name, "authorization");
        assert_eq!(header.to_str().unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        for shown in [url.to_string(), format!("{url:?}"), url.authority(), format!("{header:?}")] {
            assert!(
                !shown.contains("Aladdin") && !shown.contains("sesame") && !shown.contains("QWx"),
                "{shown}"
            );
        }
        assert_eq!(url.to_string(), "http://h:81/x");
        let keyed: DrainUrl = "http://h:81/x?key=secret".parse().unwrap();
        assert_eq!((keyed.to_string().as_str(), keyed.target()), ("http://h:81/x?…", "/x?key=secret"));
        for bad in ["https://me:secret@h/", "http://me:secret@", "http://me:secret@h:x/"] {
            let error = bad.parse::<DrainUrl>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_token_is_sent_and_never_shown() {
        let url = url("http://h/x").with_bearer("s3cret").unwrap();
        assert_eq!(url.authorization().unwrap().1, "Bearer s3cret");
        assert!(!format!("{url} {url:?} {:?}", url.authorization()).contains("s3cret"));
        assert_eq!(url.clone().with_bearer("a\nb"), Err(BadUrl::Token));
        let own = url.with_header("x-api-key", "s3cret").unwrap();
        let (name, value) = own.authorization().unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-api-key", "s3cret"));
        assert!(!format!("{own} {own:?} {:?}", own.authorization()).contains("s3cret"));
        assert_eq!(own.with_header("a b", "x"), Err(BadUrl::Token));
    }

    #[test]
    fn base64_pads_every_length() {
        let rows =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("~?>", "fj8+")];
        for (plain, coded) in rows {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_broken_escape_stands_for_itself() {
        for (text, octets) in [("a%3Ab", "a:b"), ("100%", "100%"), ("%zz%4", "%zz%4"), ("%25%", "%%")] {
            assert_eq!(percent_decoded(text), octets.as_bytes(), "{text}");
        }
    }
}
