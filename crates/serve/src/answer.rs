//! Answers: JSON, or why there is none.

use std::fmt::Display;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Why a request has no answer, in the words of the command.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// What was asked makes no sense.
    BadInput(String),
    /// The request comes from somewhere that may not ask.
    Forbidden(String),
    /// There is no such thing here.
    Missing(String),
    /// Something that is going on is in the way.
    Conflict(String),
    /// What was asked makes sense, but could not be done.
    Failed(String),
    /// Too much is going on already.
    Busy(String),
    /// More was sent than is read.
    TooLarge(String),
    /// There is such a thing, but it is asked for in another way: by these methods.
    OtherMethod(String, &'static str),
}

impl Refusal {
    /// The refusal for an error in what was asked.
    pub(crate) fn bad_input(error: impl Display) -> Self {
        Self::BadInput(error.to_string())
    }

    /// The refusal for work that could not be done.
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let allowed = if let Self::OtherMethod(_, allowed) = self { Some(allowed) } else { None };
        let (status, error) = match self {
            Self::BadInput(error) => (StatusCode::BAD_REQUEST, error),
            Self::Forbidden(error) => (StatusCode::FORBIDDEN, error),
            Self::Missing(error) => (StatusCode::NOT_FOUND, error),
            Self::Conflict(error) => (StatusCode::CONFLICT, error),
            Self::Failed(error) => (StatusCode::UNPROCESSABLE_ENTITY, error),
            Self::Busy(error) => (StatusCode::SERVICE_UNAVAILABLE, error),
            Self::TooLarge(error) => (StatusCode::PAYLOAD_TOO_LARGE, error),
            Self::OtherMethod(error, _) => (StatusCode::METHOD_NOT_ALLOWED, error),
        };
        let body = serde_json::json!({ "error": error }).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, JSON)], body).into_response();
        if let Some(allowed) = allowed {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}

/// The type of answers.
pub(crate) const JSON: &str = "application/json";

/// A value as JSON, written by the thread that made it.
pub(crate) struct Json(Vec<u8>);

impl Json {
    /// # Errors
    /// If the value cannot be written, which the program's own can.
    pub(crate) fn of(value: &impl Serialize) -> Result<Self, Refusal> {
        serde_json::to_vec(value).map(Self).map_err(Refusal::failed)
    }

    /// A JSON object that is written already, and the members of another one behind its own.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn joined(object: String, others: &impl Serialize) -> Result<Self, Refusal> {
        let mut text = object.into_bytes();
        // A comma in place of the two braces.
        text.pop();
        let end = text.len();
        serde_json::to_writer(&mut text, others).map_err(Refusal::failed)?;
        text[end] = b',';
        Ok(Self(text))
    }
}

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, JSON)], self.0).into_response()
    }
}
