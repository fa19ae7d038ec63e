//! Workflows that answer queries.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use cruster::prelude::*;

use crate::deferreds::GATE;
use crate::parallel::Numbers;
use crate::signals::{CollectRequest, Word};
use crate::{HOUR, MILLISECOND};

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = i64)]
pub struct Far;

/// Asks for the words from a place on.
#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = Vec<String>, name = "words")]
pub struct WordsFrom {
    pub place: i64,
}

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = bool)]
pub struct Act;

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = i64)]
pub struct Spoil;

/// Sleeps three times, the last time until it is interrupted, and says how often it has.
#[workflow]
pub struct Nap;

#[workflow_impl(queries(Far))]
impl Nap {
    async fn execute(&self, _request: cruster::Empty) -> Result<i64> {
        let naps = Rc::new(Cell::new(0));
        let so_far = naps.clone();
        self.answer(move |_: Far| so_far.get());
        for time in [MILLISECOND, MILLISECOND, HOUR] {
            match self.sleep(time).await {
                Err(e) if e.is_interrupted() => break,
                slept => slept?,
            }
            naps.set(naps.get() + 1);
        }
        Ok(naps.get())
    }
}

/// Receives words as Collect does, and answers with them.
#[workflow]
pub struct Track;

#[workflow_impl(signals(Word), queries(Far, WordsFrom, Act), deferreds(GATE))]
impl Track {
    async fn execute(&self, request: CollectRequest) -> Result<Vec<String>> {
        if request.late {
            self.await_deferred(GATE).await?;
        }
        let all = Rc::new(RefCell::new(Vec::new()));
        let seen = all.clone();
        self.answer(move |_: Far| seen.borrow().len() as i64);
        let seen = all.clone();
        self.answer(move |from: WordsFrom| words_from(&seen.borrow(), from.place));
        let this = self.clone();
        self.answer(move |_: Act| {
            match pin!(this.sleep(HOUR)).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(slept) => slept.map(|()| true),
                Poll::Pending => Ok(true),
            }
        });
        for _ in 0..request.words {
            let word = self.receive::<Word>().await?.0;
            all.borrow_mut().push(word);
        }
        Ok(all.take())
    }
}

fn words_from(all: &[String], place: i64) -> Result<Vec<String>> {
    let place = usize::try_from(place).expect("a place before the first");
    match all.get(place..) {
        Some(words) => Ok(words.to_vec()),
        None => cruster::bail!("too_far", "there are {} words", all.len()),
    }
}

/// Answers by changing all that it can reach: nothing of that may last.
#[workflow]
pub struct Spoiled;

#[workflow_impl(signals(Word), queries(Spoil), activity_groups(Numbers))]
impl Spoiled {
    async fn execute(&self, words: i64) -> Result<Vec<String>> {
        let all = Rc::new(RefCell::new(Vec::<String>::new()));
        let names = Rc::new(RefCell::new(BTreeSet::from(["a", "b", "c"])));
        let (this, spoilt, lost) = (self.clone(), all.clone(), names.clone());
        self.answer(move |_: Spoil| {
            let mut all = spoilt.borrow_mut();
            all.extend(lost.take().into_iter().map(str::to_owned));
            let drawn = this.random().u64();
            for word in all.iter_mut() {
                word.push(char::from(b'a' + (drawn % 26) as u8));
            }
            all.len() as i64
        });
        for _ in 0..words {
            let word = self.receive::<Word>().await?.0;
            all.borrow_mut().push(word);
            // The number is another one if an answer has drawn one before; a replay notices.
            // It is never the unlucky one.
            self.square((100 + self.random().u64() % 1000) as i64)
                .await?;
        }
        let mut all = all.take();
        all.extend(names.take().into_iter().map(str::to_owned));
        Ok(all)
    }
}
