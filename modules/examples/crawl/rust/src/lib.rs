//! Fetches many pages, a few at a time, and goes on with the ones in time.

use cruster::http::{Request, StatusCode};
use cruster::prelude::*;

/// The request of [`Crawl`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct CrawlRequest {
    /// The key of a crawl.
    pub run: String,
    pub urls: Vec<String>,
    /// How many pages are fetched at the same time. Defaults to 10.
    #[serde(default)]
    pub at_once: i64,
    /// How long all of it may take, in milliseconds. Defaults to a minute.
    #[serde(default)]
    pub deadline_ms: i64,
}

impl CrawlRequest {
    fn at_once(&self) -> usize {
        match self.at_once {
            ..=0 => 10,
            n => usize::try_from(n).unwrap_or(usize::MAX),
        }
    }

    fn deadline(&self) -> Duration {
        match u64::try_from(self.deadline_ms) {
            Ok(ms @ 1..) => Duration::from_millis(ms),
            _ => Duration::from_secs(60),
        }
    }
}

/// The result of [`Crawl`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct CrawlResult {
    pub pages: i64,
    pub bytes: i64,
    /// The pages that cannot be had.
    pub failed: Vec<String>,
    /// The pages that were not there in time.
    pub late: Vec<String>,
}

/// Fetches the pages of a request. Whatever becomes of one of them, it has the others.
#[workflow]
pub struct Crawl;

#[workflow_impl(key = |request: &CrawlRequest| request.run.clone(), hash = false)]
impl Crawl {
    async fn execute(&self, request: CrawlRequest) -> Result<CrawlResult> {
        let pages = cruster::join_all(request.urls.iter().map(|url| self.fetch(url.clone())))
            .limit(request.at_once())
            .settled_by(self.sleep(request.deadline()))
            .await;
        let mut result = CrawlResult::default();
        for (url, page) in request.urls.into_iter().zip(pages) {
            match page {
                Ok(size) => {
                    result.pages += 1;
                    result.bytes += size;
                }
                Err(e) if e.is_interrupted() => return Err(e),
                Err(e) if e.is_timeout() => result.late.push(url),
                Err(_) => result.failed.push(url),
            }
        }
        Ok(result)
    }

    /// Fetches a page, notes its size, and returns it.
    #[activity(retries = 2, backoff = "constant", base = "10ms")]
    async fn fetch(&self, url: String) -> Result<i64> {
        let page = self.http().send(Request::get(&url).body(())?)?;
        match page.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(cruster::err!("missing", "{url} is not there").non_retryable());
            }
            status => cruster::bail!("unavailable", "{url} answered {}", status.as_u16()),
        }
        let size = page.body().len() as i64;
        self.transaction().execute(
            "INSERT INTO crawl_pages (execution, url, bytes) VALUES ($1, $2, $3)",
            (self.execution_id(), &url, size),
        )?;
        Ok(size)
    }
}

cruster::module! {
    workflows: [Crawl],
    migrations: [
        Migration::new(1, "pages", "
CREATE TABLE crawl_pages (
	execution TEXT NOT NULL,
	url       TEXT NOT NULL,
	bytes     BIGINT NOT NULL
)"),
    ],
}
