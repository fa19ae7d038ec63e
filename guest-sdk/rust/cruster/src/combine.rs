//! Several futures at once.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::codes;
use crate::error::{Error, Result};

/// Waits for several futures at the same time: a future of a `Result` with the
/// tuple of their results.
///
/// They are polled in the order of the arguments. It waits for all of them even if one fails; the
/// error is the first in the order of the arguments.
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, order: String) -> Result<String, Error> {
///     let (charge, label) = cruster::join!(self.charge(order.clone()), self.print_label(order)).await?;
///     Ok(format!("{charge}, {label}"))
/// }
/// # #[activity]
/// # async fn charge(&self, order: String) -> Result<u64, Error> {
/// #     Ok(order.len() as u64)
/// # }
/// # #[activity]
/// # async fn print_label(&self, order: String) -> Result<String, Error> {
/// #     Ok(order)
/// # }
/// # }
/// ```
#[macro_export]
macro_rules! join {
    ($_0:expr, $_1:expr, $_2:expr, $_3:expr, $_4:expr, $_5:expr, $_6:expr, $_7:expr, $($more:expr),+ $(,)?) => {
        ::std::compile_error!("join! takes up to eight futures; use cruster::join_all for more, or put one join! into another")
    };
    ($($future:expr),+ $(,)?) => {
        $crate::__private::Join::join(($($future,)+))
    };
}

/// Waits for the first of several futures, and runs its branch.
///
/// They are polled in the order of the list: if several are ready, the first
/// wins. The others are dropped before the branch runs, which cancels their durable
/// calls; pass a future as `&mut` to keep it.
///
/// ```
/// # use cruster::prelude::*;
/// pub const APPROVED: Deferred<String> = Deferred::new("approved");
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl(deferreds(APPROVED))]
/// # impl Example {
/// async fn execute(&self, order: String) -> Result<String, Error> {
///     let by = cruster::select! {
///         by = self.await_deferred(APPROVED) => by?,
///         slept = self.sleep(Duration::from_secs(3600)) => {
///             slept?;
///             "no one".to_owned()
///         }
///     };
///     Ok(format!("{order} was approved by {by}"))
/// }
/// # }
/// ```
#[macro_export]
macro_rules! select {
    ($($branches:tt)+) => {
        $crate::__select!(@parse [__0 __1 __2 __3 __4 __5 __6 __7] [] [] $($branches)+)
    };
}

/// Parses the branches of `select!` one at a time, and gives each the next name.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@parse $names:tt [$($futures:tt)*] [$($arms:tt)*]) => {{
        let selected = $crate::__private::Select::select(($($futures)*)).await;
        match selected { $($arms)* }
    }};
    (@parse [$name:ident $($names:ident)*] [$($futures:tt)*] [$($arms:tt)*] $p:pat = $f:expr => $body:block, $($rest:tt)*) => {
        $crate::__select!(@parse [$($names)*] [$($futures)* $f,] [$($arms)* $crate::__private::Selected::$name($p) => $body,] $($rest)*)
    };
    (@parse [$name:ident $($names:ident)*] [$($futures:tt)*] [$($arms:tt)*] $p:pat = $f:expr => $body:expr, $($rest:tt)*) => {
        $crate::__select!(@parse [$($names)*] [$($futures)* $f,] [$($arms)* $crate::__private::Selected::$name($p) => $body,] $($rest)*)
    };
    (@parse [$name:ident $($names:ident)*] [$($futures:tt)*] [$($arms:tt)*] $p:pat = $f:expr => $body:expr) => {
        $crate::__select!(@parse [$($names)*] [$($futures)* $f,] [$($arms)* $crate::__private::Selected::$name($p) => $body,])
    };
    (@parse [$name:ident $($names:ident)*] [$($futures:tt)*] [$($arms:tt)*] $p:pat = $f:expr => $body:block $($rest:tt)*) => {
        $crate::__select!(@parse [$($names)*] [$($futures)* $f,] [$($arms)* $crate::__private::Selected::$name($p) => $body,] $($rest)*)
    };
    (@parse [] $($rest:tt)*) => {
        ::std::compile_error!("select! takes up to eight branches; use cruster::first for more")
    };
    (@parse $($rest:tt)*) => {
        ::std::compile_error!("select! takes branches of the form `pattern = future => expression`, with commas between them")
    };
}

/// Tuples of futures that `join!` takes.
pub trait Join {
    /// The tuple of their results.
    type Output;
    /// Waits for all.
    fn join(self) -> impl Future<Output = Result<Self::Output>>;
}

/// Tuples of futures that `select!` takes.
pub trait Select {
    /// Which was the first, with its output.
    type Output;
    /// Waits for the first.
    fn select(self) -> impl Future<Output = Self::Output>;
}

/// Which future was the first, with its output.
#[doc(hidden)]
#[allow(missing_docs)]
pub enum Selected<
    A = Infallible,
    B = Infallible,
    C = Infallible,
    D = Infallible,
    E = Infallible,
    F = Infallible,
    G = Infallible,
    H = Infallible,
> {
    __0(A),
    __1(B),
    __2(C),
    __3(D),
    __4(E),
    __5(F),
    __6(G),
    __7(H),
}

/// One of several futures, and its result once it is ready.
struct Slot<F: Future> {
    future: Pin<Box<F>>,
    result: Option<F::Output>,
}

impl<F: Future> Slot<F> {
    fn new(future: F) -> Self {
        Slot {
            future: Box::pin(future),
            result: None,
        }
    }

    /// Polls the future unless it is done; returns whether it is done.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if self.result.is_none() {
            if let Poll::Ready(result) = self.future.as_mut().poll(cx) {
                self.result = Some(result);
            }
        }
        self.result.is_some()
    }
}

macro_rules! joins {
    ($($($future:ident $value:ident $at:tt)+;)*) => {
        $(impl<$($value, $future: Future<Output = Result<$value>>),+> Join for ($($future,)+) {
            type Output = ($($value,)+);

            async fn join(self) -> Result<Self::Output> {
                // A tuple, whose parts are dropped and so cancelled in order.
                let mut slots = ($(Slot::new(self.$at),)+);
                poll_fn(|cx| {
                    let all = [$(slots.$at.poll(cx)),+];
                    if all.contains(&false) { Poll::Pending } else { Poll::Ready(()) }
                })
                .await;
                Ok(($(slots.$at.result.take().unwrap_or_else(|| Err(Error::canceled()))?,)+))
            }
        })*
    };
}

joins! {
    A A1 0;
    A A1 0 B B1 1;
    A A1 0 B B1 1 C C1 2;
    A A1 0 B B1 1 C C1 2 D D1 3;
    A A1 0 B B1 1 C C1 2 D D1 3 E E1 4;
    A A1 0 B B1 1 C C1 2 D D1 3 E E1 4 F F1 5;
    A A1 0 B B1 1 C C1 2 D D1 3 E E1 4 F F1 5 G G1 6;
    A A1 0 B B1 1 C C1 2 D D1 3 E E1 4 F F1 5 G G1 6 H H1 7;
}

macro_rules! selects {
    ($($($future:ident $at:tt $variant:ident)+;)*) => {
        $(impl<$($future: Future),+> Select for ($($future,)+) {
            type Output = Selected<$($future::Output),+>;

            async fn select(self) -> Self::Output {
                let mut futures = ($(Box::pin(self.$at),)+);
                poll_fn(|cx| {
                    $(
                        if let Poll::Ready(value) = futures.$at.as_mut().poll(cx) {
                            return Poll::Ready(Selected::$variant(value));
                        }
                    )+
                    Poll::Pending
                })
                .await
            }
        })*
    };
}

selects! {
    A 0 __0;
    A 0 __0 B 1 __1;
    A 0 __0 B 1 __1 C 2 __2;
    A 0 __0 B 1 __1 C 2 __2 D 3 __3;
    A 0 __0 B 1 __1 C 2 __2 D 3 __3 E 4 __4;
    A 0 __0 B 1 __1 C 2 __2 D 3 __3 E 4 __4 F 5 __5;
    A 0 __0 B 1 __1 C 2 __2 D 3 __3 E 4 __4 F 5 __5 G 6 __6;
    A 0 __0 B 1 __1 C 2 __2 D 3 __3 E 4 __4 F 5 __5 G 6 __6 H 7 __7;
}

/// Waits for the first future of a list that has a result, and yields its index
/// with it. If several are ready, the first in the list wins.
///
/// The others are dropped, which cancels their durable calls; to keep them, pass
/// `list.iter_mut()`.
pub async fn first<T, F: Future<Output = Result<T>>>(
    futures: impl IntoIterator<Item = F>,
) -> Result<(usize, T)> {
    let mut futures: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    if futures.is_empty() {
        let message = "first was called with no futures and would wait for ever";
        return Err(Error::with_code(&codes::WRONG_CONTEXT, message));
    }
    poll_fn(|cx| {
        for (i, future) in futures.iter_mut().enumerate() {
            if let Poll::Ready(result) = future.as_mut().poll(cx) {
                return Poll::Ready(result.map(|value| (i, value)));
            }
        }
        Poll::Pending
    })
    .await
}
