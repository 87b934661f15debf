//! Which requests are answered at all: those for this server, from its own page, with its token.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::Refusal;
use crate::page;

/// The longest address of a request, in bytes.
const LONGEST: usize = 1 << 14;

/// What requests have to have.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// The token: others may use this machine, too.
    pub(crate) token: String,
}

/// What the browser may do with the page: run its own script and ask its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Lets a request through, or answers it; every answer gets the headers of all.
pub(crate) async fn guarded(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let mut response = match guard.check(request.method(), request.uri(), request.headers()) {
        Ok(Access::Granted) => next.run(request).await,
        Ok(Access::Enters(page)) => guard.enter(&page),
        Err(Refusal::Forbidden(why)) if page::is_for_people(&headers) => page::forbidden(&why),
        Err(refusal) => refusal.into_response(),
    };
    let forbidden = response.status() == StatusCode::FORBIDDEN;
    let headers = response.headers_mut();
    // Who may not ask keeps no connection.
    if forbidden {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// What a request that is not refused may do.
#[derive(PartialEq, Eq, Debug)]
enum Access {
    Granted,
    /// It has the token in its address: from now on, the browser has it in a cookie, and the address does not show it.
    Enters(String),
}

impl Guard {
    /// The name of the cookie that carries the token: browsers do not tell the ports of a host apart.
    fn cookie(&self) -> String {
        format!("wormcast-{}", self.address.port())
    }

    /// Sends the browser to the address without the token.
    fn enter(&self, page: &str) -> Response {
        // Lax: a link in a message leads here, too. It is sent along with nothing else that other sites make the browser ask for.
        let cookie = format!("{}={}; HttpOnly; SameSite=Lax; Path=/", self.cookie(), self.token);
        let headers = [(header::LOCATION, page), (header::SET_COOKIE, &cookie)];
        (StatusCode::SEE_OTHER, headers).into_response()
    }

    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Access, Refusal> {
        let refused = |why: &str| Err(Refusal::Forbidden(why.to_owned()));
        if uri.to_string().len() > LONGEST {
            return Err(Refusal::BadInput(format!("the address has more than {LONGEST} bytes")));
        }
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        // A page of another host whose name leads here would send that name.
        let host = match (text(header::HOST), headers.get_all(header::HOST).iter().count()) {
            (Some(host), 1) if self.is_own(host) => host,
            _ => return refused("the request is for another host"),
        };
        // A target may name a host of its own, which then counts.
        if uri.authority().is_some_and(|authority| !self.is_own(authority.as_str())) {
            return refused("the request is for another host");
        }
        if let Some(origin) = text(header::ORIGIN)
            && origin != format!("http://{host}")
        {
            return refused("the request comes from a page of another origin");
        }
        let is_data = uri.path().starts_with("/api/");
        let from = text(HeaderName::from_static("sec-fetch-site"));
        if is_data && from.is_some_and(|from| !["same-origin", "none"].contains(&from)) {
            return refused("the request comes from a page of another site");
        }
        let access = self.authorise(method, uri, headers)?;
        match *method {
            Method::GET | Method::HEAD => Ok(access),
            Method::POST => {
                if text(HeaderName::from_static("x-wormcast")) != Some("page") {
                    return refused("expected the header `X-Wormcast: page`");
                }
                if access == Access::Granted { Ok(access) } else { refused("expected the token in the cookie") }
            }
            _ => Err(Refusal::OtherMethod(format!("`{method}` is asked; expected `GET` or `POST`"), "GET, HEAD, POST")),
        }
    }

    /// Whether a request knows the token. Whoever opens an address with a token is sent to the one without, even if let in already: addresses are sent to others.
    fn authorise(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Access, Refusal> {
        let token = &self.token;
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies.flat_map(|all| all.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        let own = self.cookie();
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let is_known = cookies.any(|(name, value)| name == own && same(value, token))
            || bearer.is_some_and(|given| same(given, token));
        let parts: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()).collect();
        let (tokens, others): (Vec<&str>, Vec<&str>) = parts.into_iter().partition(|part| part.starts_with("token="));
        let enters = matches!(tokens[..], [given] if same(&given["token=".len()..], token));
        if !is_known && !enters {
            let expected =
                "expected the address that `wormcast serve` has printed: it has a token, another one after each start";
            return Err(Refusal::Forbidden(expected.to_owned()));
        }
        if is_known && (tokens.is_empty() || method == Method::POST) {
            return Ok(Access::Granted);
        }
        // One slash: two would be another host.
        let path = format!("/{}", uri.path().trim_start_matches('/'));
        let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        Ok(Access::Enters(path + &query))
    }

    /// Whether this is what a browser calls this server.
    fn is_own(&self, host: &str) -> bool {
        let port = self.address.port();
        let Some((name, given)) = host.rsplit_once(':') else {
            return port == 80 && self.is_own(&format!("{host}:80"));
        };
        if given.parse() != Ok(port) || given.starts_with('+') {
            return false;
        }
        if name == "localhost" {
            return self.address.ip().is_loopback() || self.address.ip().is_unspecified();
        }
        let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match literal.parse::<IpAddr>() {
            // On all interfaces, any of their addresses will do; a name would not, whoever it belongs to.
            Ok(ip) if self.address.ip().is_unspecified() => name.starts_with('[') == ip.is_ipv6(),
            Ok(ip) => ip == self.address.ip() && name.starts_with('[') == ip.is_ipv6(),
            Err(_) => false,
        }
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn same(given: &str, expected: &str) -> bool {
    let (given, expected) = (given.as_bytes(), expected.as_bytes());
    let differ = given.iter().zip(expected).fold(0, |differ, (one, other)| differ | (one ^ other));
    std::hint::black_box(differ) == 0 && given.len() == expected.len() && !expected.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard { address: address.parse().expect("an address"), token: "secret".to_owned() }
    }

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn only_requests_for_this_host_are_answered() {
        let local = guard("127.0.0.1:8000");
        let hosts = ["127.0.0.1:8000", "localhost:8000"];
        for host in hosts {
            assert!(local.is_own(host), "{host}");
        }
        let others = [
            "127.0.0.1",
            "127.0.0.1:8001",
            "evil.example:8000",
            "127.0.0.1.evil.example:8000",
            "0.0.0.0:8000",
            "[::1]:8000",
            "",
            ":8000",
            "localhost",
            "LOCALHOST.evil:8000",
            "127.0.0.1:8000:8000",
            "127.0.0.1:+8000",
            "[127.0.0.1]:8000",
        ];
        for host in others {
            assert!(!local.is_own(host), "{host}");
        }
        assert!(guard("[::1]:8000").is_own("[::1]:8000"));
        let everywhere = guard("0.0.0.0:8000");
        assert!(everywhere.is_own("192.168.0.7:8000") && everywhere.is_own("localhost:8000"));
        assert!(!everywhere.is_own("my-machine:8000"), "a name can lead anywhere");
        assert!(guard("127.0.0.1:80").is_own("127.0.0.1"));
    }

    #[test]
    fn other_origins_are_refused() {
        let guard = guard("127.0.0.1:8000");
        let allowed = |method: Method, path: &str, given: &[(&'static str, &str)]| {
            let given = [&[("host", "127.0.0.1:8000"), ("cookie", "wormcast-8000=secret")], given].concat();
            guard.check(&method, &path.parse().unwrap(), &headers(&given)).is_ok()
        };
        assert!(allowed(Method::GET, "/api/info", &[]));
        assert!(allowed(Method::GET, "/api/info", &[("origin", "http://127.0.0.1:8000")]));
        for origin in [
            "http://localhost:8000",
            "https://127.0.0.1:8000",
            "null",
            "http://evil.example",
            "http://127.0.0.1:8000.evil",
        ] {
            assert!(!allowed(Method::GET, "/api/info", &[("origin", origin)]), "{origin}");
        }
        assert!(!allowed(Method::GET, "/api/info", &[("sec-fetch-site", "cross-site")]));
        assert!(!allowed(Method::GET, "/api/info", &[("sec-fetch-site", "same-site")]));
        assert!(allowed(Method::GET, "/network", &[("sec-fetch-site", "cross-site")]), "a link to the page");
        assert!(!allowed(Method::POST, "/api/sweeps", &[]));
        assert!(allowed(Method::POST, "/api/sweeps", &[("x-wormcast", "page")]));
        assert!(!allowed(Method::POST, "/api/sweeps", &[("x-wormcast", "page"), ("origin", "http://evil.example")]));
        for method in [Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE, Method::PATCH] {
            assert!(!allowed(method.clone(), "/api/info", &[("x-wormcast", "page")]), "{method}");
        }
        assert!(!allowed(Method::GET, &format!("/api/info?{}", "a".repeat(LONGEST)), &[]));
    }

    #[test]
    fn the_token_is_asked_for() {
        let guard = guard("192.168.0.7:8000");
        let access = |path: &str, given: &[(&'static str, &str)]| {
            let given = [&[("host", "192.168.0.7:8000")], given].concat();
            guard.check(&Method::GET, &path.parse().unwrap(), &headers(&given)).ok()
        };
        let enters = |page: &str| Some(Access::Enters(page.to_owned()));
        assert_eq!(access("/?token=secret", &[]), enters("/"));
        assert_eq!(access("/replay?file=a&token=secret&cycle=3", &[]), enters("/replay?file=a&cycle=3"));
        assert_eq!(access("//evil.example/?token=secret", &[]), enters("/evil.example/"));
        assert_eq!(access("/", &[("cookie", "other=1; wormcast-8000=secret")]), Some(Access::Granted));
        // Opened again, or after another start of the server: the address would be sent on with the token.
        for token in ["secret", "another"] {
            let again = access(&format!("/plan?a=1&token={token}"), &[("cookie", "wormcast-8000=secret")]);
            assert_eq!(again, enters("/plan?a=1"));
        }
        // Of a server on another port of this host.
        assert_eq!(access("/", &[("cookie", "wormcast-8001=secret")]), None);
        let both = access("/", &[("cookie", "wormcast-8000=secret; wormcast-8001=other")]);
        assert_eq!(both, Some(Access::Granted));
        assert_eq!(access("/", &[("authorization", "Bearer secret")]), Some(Access::Granted));
        for path in
            ["/", "/?token=", "/?token=secre", "/?token=secrets", "/?token=secret&token=other", "/?Token=secret"]
        {
            assert_eq!(access(path, &[]), None, "{path}");
        }
        assert_eq!(access("/", &[("cookie", "wormcast-8000=secre")]), None);
        assert_eq!(access("/api/info", &[("authorization", "secret")]), None);
        let post = headers(&[("host", "192.168.0.7:8000"), ("x-wormcast", "page")]);
        let entering = "/api/sweeps?token=secret".parse().unwrap();
        assert!(guard.check(&Method::POST, &entering, &post).is_err(), "an address alone changes nothing");
        let post = headers(&[("host", "192.168.0.7:8000"), ("x-wormcast", "page"), ("authorization", "Bearer secret")]);
        assert_eq!(guard.check(&Method::POST, &entering, &post).ok(), Some(Access::Granted));
    }
}
