//! The page's own files, which come with the program.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use wormcast_network::text::nearest;

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
pub(crate) async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    let name = if VIEWS.contains(&path) { "index.html" } else { path.trim_start_matches('/') };
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some(&(_, kind, bytes)) => {
            (StatusCode::OK, [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], bytes).into_response()
        }
        None => {
            if is_for_people(&headers) {
                return html(StatusCode::NOT_FOUND, nothing(path));
            }
            Refusal::Missing(format!("there is no page `{path}`; expected one of {}", VIEWS.join(", "))).into_response()
        }
    }
}

/// Whether a person reads the answer, and no program.
pub(crate) fn is_for_people(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

fn html(status: StatusCode, page: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

/// What a person reads who may not ask.
pub(crate) fn forbidden(why: &str) -> Response {
    let why = why.get(..1).unwrap_or_default().to_uppercase() + why.get(1..).unwrap_or_default();
    html(
        StatusCode::FORBIDDEN,
        whole("Not for this address", &format!("<h1>This page is closed</h1><p>{}.</p>", escaped(&why))),
    )
}

/// What a person reads whose address names no view.
fn nothing(path: &str) -> String {
    let link = |view: &str| format!("<a href=\"{view}\">{}</a>", if view == "/" { "Files" } else { &view[1..] });
    let nearest = nearest(path, VIEWS).map_or_else(String::new, |view| format!("<p>Did you mean {}?</p>", link(view)));
    let all = VIEWS.map(|view| format!("<li>{}</li>", link(view))).concat();
    let escaped = escaped(path);
    let said = format!("<h1>There is no page <code>{escaped}</code></h1>{nearest}<p>There are:</p><ul>{all}</ul>");
    whole("No such page", &said)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn whole(title: &str, said: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} – wormcast</title><link rel=\"icon\" href=\"/icon.svg\"><link rel=\"stylesheet\" href=\"/page.css\"></head>\
         <body><div class=\"wc\"><main class=\"text\">{said}</main></div></body></html>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_there_is_not_is_said_without_the_markup_of_its_address() {
        let page = nothing("/replays<script>\"&");
        assert!(page.contains("/replays&lt;script&gt;&quot;&amp;") && !page.contains("<script"), "{page}");
        assert!(nothing("/curve").contains("Did you mean <a href=\"/curves\">curves</a>?"));
        assert!(!nothing("/favicon.ico").contains("Did you mean"));
    }
}
