//! What the server sends: pages and JSON, with headers that let a browser do only what the page needs.

use serde_json::{Value, json};
use tiny_http::{Header, Request, Response};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page for those without a token.
pub(super) const NO_TOKEN: &str = include_str!("no-token.html");

/// Reports are shown in a frame without an origin, which has to run the report's own script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A reply to a request.
pub(super) struct Reply {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Reply {
    /// A page.
    pub(super) fn page(status: u16, body: &str) -> Reply {
        Reply { status, kind: "text/html; charset=utf-8", body: body.to_string() }
    }

    /// An object.
    pub(super) fn json(status: u16, body: &Value) -> Reply {
        Reply { status, kind: "application/json", body: body.to_string() }
    }

    /// Why there is nothing to send.
    pub(super) fn refusal(status: u16, why: &str) -> Reply {
        Reply::json(status, &json!({ "error": why }))
    }

    /// Sends it. Whoever asked may be gone by now, which is as well.
    pub(super) fn send(self, request: Request) {
        let mut response = Response::from_string(self.body)
            .with_status_code(self.status)
            .with_chunked_threshold(usize::MAX);
        for (name, value) in [
            ("Content-Type", self.kind),
            ("Content-Security-Policy", POLICY),
            ("Cache-Control", "no-store"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        let _ = request.respond(response);
    }
}

/// The playground with what it knows from the start.
pub(super) fn page(data: &Value) -> String {
    // JSON that cannot end the element it stands in.
    let data = data.to_string().replace('<', "\\u003c").replace('>', "\\u003e");
    PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).replace("/*DATA*/", &data)
}
