//! An API server that answers exactly what it is told to, and remembers what it was asked.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use futures::stream::{self, StreamExt};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// One answer.
pub(super) enum Answer {
    /// Status and body.
    Body(u16, String),
    /// Status and the seconds of `Retry-After`.
    RetryAfter(u16, u64),
    /// 200, these chunks, and an end in good order.
    Lines(Vec<String>),
    /// 200, these chunks, and a connection that breaks.
    Cut(Vec<String>),
    /// 200, these chunks, and nothing more for ever.
    Silent(Vec<String>),
}

#[derive(Default)]
struct Script {
    lists: VecDeque<Answer>,
    watches: VecDeque<Answer>,
    writes: VecDeque<Answer>,
    /// Method, path and query of each request, and as whom.
    seen: Vec<String>,
}

/// The server; it ends with the test's runtime. Where it was told no answer it stays silent.
pub(super) struct Server {
    pub(super) url: String,
    script: Arc<Mutex<Script>>,
}

impl Server {
    pub(super) async fn start(lists: Vec<Answer>, watches: Vec<Answer>) -> Self {
        let script = Script {
            lists: lists.into(),
            watches: watches.into(),
            ..Script::default()
        };
        let script = Arc::new(Mutex::new(script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, script }
    }

    pub(super) fn answer_writes(&self, answers: Vec<Answer>) {
        self.script.lock().unwrap().writes = answers.into();
    }

    /// Paths and queries of the lists.
    pub(super) fn lists(&self) -> Vec<String> {
        let seen = &self.script.lock().unwrap().seen;
        let lists = seen
            .iter()
            .filter(|line| line.starts_with("GET ") && !line.contains("watch=true"));
        lists.map(|line| line["GET ".len()..].to_owned()).collect()
    }

    /// The resourceVersion of each watch.
    pub(super) fn watched_from(&self) -> Vec<String> {
        let seen = &self.script.lock().unwrap().seen;
        let versions = seen.iter().filter_map(|line| line.split_once("resourceVersion="));
        versions
            .map(|(_, rest)| rest.split('&').next().unwrap_or_default().to_owned())
            .collect()
    }

    /// Everything that is not a GET.
    pub(super) fn writes(&self) -> Vec<String> {
        self.script
            .lock()
            .unwrap()
            .seen
            .iter()
            .filter(|line| !line.starts_with("GET "))
            .cloned()
            .collect()
    }
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, request: Request<Body>) -> Response<Body> {
    let answer = {
        let mut script = script.lock().unwrap();
        let mut line = format!("{} {}", request.method(), request.uri());
        if let Some(user) = request.headers().get("impersonate-user") {
            line = format!("{line} as {}", user.to_str().unwrap());
        }
        let answers = match (request.method().as_str(), line.contains("watch=true")) {
            ("GET", false) => &mut script.lists,
            ("GET", true) => &mut script.watches,
            _ => &mut script.writes,
        };
        let answer = answers.pop_front();
        script.seen.push(line);
        answer
    };
    match answer.unwrap_or(Answer::Silent(Vec::new())) {
        Answer::Body(code, body) => Response::builder().status(code).body(Body::from(body)),
        Answer::RetryAfter(code, seconds) => Response::builder()
            .status(code)
            .header("retry-after", seconds)
            .body(Body::empty()),
        Answer::Lines(lines) => Response::builder().body(chunks(lines, stream::empty().boxed())),
        Answer::Cut(lines) => {
            // What was sent before leaves the server when its body has nothing to give for a moment.
            let cut = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            Response::builder().body(chunks(lines, cut.boxed()))
        }
        Answer::Silent(lines) => Response::builder().body(chunks(lines, stream::pending().boxed())),
    }
    .unwrap()
}

fn chunks(lines: Vec<String>, end: stream::BoxStream<'static, std::io::Result<String>>) -> Body {
    Body::from_stream(stream::iter(lines).map(Ok).chain(end))
}
