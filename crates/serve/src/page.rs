//! The page's own files, which come with the program.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::answer::Refusal;

/// The files of `dist/`, by name and type.
const FILES: [(&str, &str, &[u8]); 4] = [
    ("index.html", "text/html; charset=utf-8", include_bytes!("../dist/index.html")),
    ("page.js", "text/javascript; charset=utf-8", SCRIPT.as_bytes()),
    ("page.css", "text/css; charset=utf-8", STYLE.as_bytes()),
    ("icon.svg", "image/svg+xml", include_bytes!("../dist/icon.svg")),
];

/// The script of the page, which also plays the recorded runs that a page of another kind has in it.
pub const SCRIPT: &str = include_str!("../dist/page.js");
/// Its style, all of which is below the class `wc`.
pub const STYLE: &str = include_str!("../dist/page.css");

/// The addresses of views, all of which are the same page.
const VIEWS: [&str; 7] = ["/", "/network", "/replay", "/deadlock", "/plan", "/curves", "/sweeps"];

/// A file of the page, or the page itself.
pub(crate) async fn file(uri: Uri) -> Response {
    let path = uri.path();
    let name = if VIEWS.contains(&path) { "index.html" } else { path.trim_start_matches('/') };
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some(&(_, kind, bytes)) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], bytes).into_response()
        }
        None => {
            Refusal::Missing(format!("there is no page `{path}`; expected one of {}", VIEWS.join(", "))).into_response()
        }
    }
}
