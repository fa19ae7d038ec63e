//! The expansion of the macros, written by hand: a workflow that uses its own
//! activity and one of a group. It is the contract between this crate
//! and `cruster-macros`, and it is run like any other workflow.

use cruster::prelude::*;
use cruster::testing::Test;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    pub cents: u64,
}

// #[derive(Schema)]
const _: () = {
    impl ::cruster::Schema for Order {
        fn schema() -> ::cruster::schema::Shape {
            ::cruster::schema::Shape::guarded::<Self>(|| {
                ::cruster::schema::Shape::structure(::std::vec![
                    ::cruster::schema::Field::required(
                        "id",
                        <String as ::cruster::Schema>::schema()
                    ),
                    ::cruster::schema::Field::required(
                        "cents",
                        <u64 as ::cruster::Schema>::schema()
                    ),
                ])
            })
        }
    }
};

// #[activity_group]
#[derive(Default)]
pub struct Payments;

// #[activity_group_impl(retries = 5)]
// impl Payments {
//     #[activity]
//     async fn charge(&self, card: String, cents: u64) -> Result<String, Error> {
//         Ok(format!("{}:{card}:{cents}", self.attempt()))
//     }
// }
const _: () = {
    /// The input of an activity of several parameters.
    #[derive(::cruster::serde::Serialize, ::cruster::serde::Deserialize)]
    #[serde(crate = "::cruster::serde")]
    struct __ChargeInput {
        card: String,
        cents: u64,
    }

    impl ::cruster::Schema for __ChargeInput {
        fn schema() -> ::cruster::schema::Shape {
            ::cruster::schema::Shape::structure(::std::vec![
                ::cruster::schema::Field::required("card", <String as ::cruster::Schema>::schema()),
                ::cruster::schema::Field::required("cents", <u64 as ::cruster::Schema>::schema()),
            ])
        }
    }

    /// The bodies of the group's activities.
    pub struct __PaymentsAttempt {
        cx: ::cruster::__private::ActivityContext<Payments>,
    }

    impl ::core::ops::Deref for __PaymentsAttempt {
        type Target = ::cruster::__private::ActivityContext<Payments>;
        fn deref(&self) -> &Self::Target {
            &self.cx
        }
    }

    impl __PaymentsAttempt {
        async fn charge(&self, card: String, cents: u64) -> Result<String, Error> {
            Ok(format!("{}:{card}:{cents}", self.attempt()))
        }
    }

    /// The calls of the group's activities, around the `self` of a workflow.
    #[derive(Clone)]
    pub struct __PaymentsCalls<Inner> {
        inner: Inner,
    }

    impl<Inner> ::core::ops::Deref for __PaymentsCalls<Inner> {
        type Target = Inner;
        fn deref(&self) -> &Inner {
            &self.inner
        }
    }

    impl<Inner: ::cruster::InWorkflow> ::cruster::InWorkflow for __PaymentsCalls<Inner> {
        fn context(&self) -> &::cruster::__private::ContextCore {
            self.inner.context()
        }
    }

    impl<Inner: ::cruster::InWorkflow> __PaymentsCalls<Inner> {
        pub fn charge(&self, card: String, cents: u64) -> ::cruster::ActivityCall<String> {
            ::cruster::__private::activity_call(
                self,
                &<Payments as ::cruster::ActivityGroup>::ACTIVITIES[0],
                &__ChargeInput { card, cents },
            )
        }
    }

    impl ::cruster::__private::Owner for Payments {
        const DEFAULT: ::core::option::Option<fn() -> Self> =
            ::core::option::Option::Some(<Self as ::core::default::Default>::default);
    }

    impl ::cruster::__private::Group for Payments {}

    impl ::cruster::ActivityGroup for Payments {
        const NAME: &'static str = "Payments";
        const ACTIVITIES: &'static [::cruster::__private::ActivityDefinition] =
            &[::cruster::__private::ActivityDefinition {
                name: "Payments.charge",
                origin: ::core::concat!(::core::module_path!(), "::Payments::charge"),
                input: <__ChargeInput as ::cruster::Schema>::schema,
                output: <String as ::cruster::Schema>::schema,
                retry: ::cruster::__private::RetryPolicy {
                    retries: 5,
                    backoff: ::core::option::Option::None,
                    jitter: 0.0,
                },
                timeout: 0,
                run: |attempt| {
                    ::cruster::__private::run_activity(
                        attempt,
                        |cx, input: __ChargeInput| async move {
                            let __ChargeInput { card, cents } = input;
                            __PaymentsAttempt { cx }.charge(card, cents).await
                        },
                    )
                },
            }];
        type Calls<Inner: ::cruster::InWorkflow> = __PaymentsCalls<Inner>;
        fn calls<Inner: ::cruster::InWorkflow>(inner: Inner) -> Self::Calls<Inner> {
            __PaymentsCalls { inner }
        }
    }
};

// #[workflow]
#[derive(Default)]
pub struct ProcessOrder;

// #[workflow_impl(key = |order: &Order| order.id.clone(), hash = false, activity_groups(Payments))]
// impl ProcessOrder {
//     async fn execute(&self, order: Order) -> Result<String, Error> { … }
//     async fn helper(&self, …) …
//     fn label(id: &str) -> String …
//     #[activity(retries = 3, backoff = "exponential", base = "1s", timeout = "30s")]
//     async fn reserve(&self, items: Vec<String>) -> Result<u32, Error> { … }
// }
impl ProcessOrder {
    // Functions without a receiver stay on the struct.
    fn label(id: &str) -> String {
        format!("order {id}")
    }

    /// Calls the workflow: from another one, or from outside of modules.
    pub fn client<__C: ::cruster::CallsWorkflows>(cx: &__C) -> __C::Client<Self> {
        ::cruster::CallsWorkflows::client_of(cx)
    }
}

const _: () = {
    /// The `self` of `execute` and its helpers.
    #[derive(Clone)]
    pub struct __ProcessOrderRun {
        inner: __ProcessOrderLayers,
    }

    type __ProcessOrderLayers = <Payments as ::cruster::ActivityGroup>::Calls<
        ::cruster::__private::WorkflowContext<ProcessOrder>,
    >;

    impl ::core::ops::Deref for __ProcessOrderRun {
        type Target = __ProcessOrderLayers;
        fn deref(&self) -> &Self::Target {
            &self.inner
        }
    }

    impl ::cruster::InWorkflow for __ProcessOrderRun {
        fn context(&self) -> &::cruster::__private::ContextCore {
            ::cruster::InWorkflow::context(&self.inner)
        }
    }

    impl __ProcessOrderRun {
        async fn execute(&self, order: Order) -> Result<String, Error> {
            let reserved = self
                .reserve(vec![ProcessOrder::label(&order.id)])
                .retries(1)
                .await?;
            self.sleep(Duration::from_secs(3600)).await?;
            let charge = self.helper(order.cents * u64::from(reserved)).await?;
            Ok(charge)
        }

        async fn helper(&self, cents: u64) -> Result<String, Error> {
            self.charge("visa".to_owned(), cents)
                .await
                .context("charge")
        }

        pub fn reserve(&self, items: Vec<String>) -> ::cruster::ActivityCall<u32> {
            ::cruster::__private::activity_call(
                self,
                &<ProcessOrder as ::cruster::Workflow>::DEFINITION.activities[0],
                &items,
            )
        }
    }

    /// The bodies of its activities.
    pub struct __ProcessOrderAttempt {
        cx: ::cruster::__private::ActivityContext<ProcessOrder>,
    }

    impl ::core::ops::Deref for __ProcessOrderAttempt {
        type Target = ::cruster::__private::ActivityContext<ProcessOrder>;
        fn deref(&self) -> &Self::Target {
            &self.cx
        }
    }

    impl __ProcessOrderAttempt {
        async fn reserve(&self, items: Vec<String>) -> Result<u32, Error> {
            if self.attempt() == 1 {
                return Err(Error::new("busy", "the store is busy"));
            }
            Ok(u32::try_from(items.len())?)
        }
    }

    impl ::cruster::__private::Owner for ProcessOrder {}

    impl ::cruster::Workflow for ProcessOrder {
        const NAME: &'static str = "ProcessOrder";
        type Request = Order;
        type Response = String;
        const DEFINITION: ::cruster::__private::WorkflowDefinition =
            ::cruster::__private::WorkflowDefinition {
                name: "ProcessOrder",
                begins: ::core::panic::Location::caller(),
                key: ::cruster::__private::KeyMode::FunctionRaw,
                input: <Order as ::cruster::Schema>::schema,
                output: <String as ::cruster::Schema>::schema,
                run: |start| {
                    ::cruster::__private::run_workflow::<ProcessOrder, _, _>(
                        start,
                        |cx, request| async move {
                            let run = __ProcessOrderRun {
                                inner: <Payments as ::cruster::ActivityGroup>::calls(cx),
                            };
                            run.execute(request).await
                        },
                    )
                },
                key_fn: ::core::option::Option::Some(|body| {
                    ::cruster::__private::derive_key::<ProcessOrder>(body, |request| {
                        ::cruster::__private::raw_key(::cruster::__private::key_of(
                            request,
                            |order: &Order| order.id.clone(),
                        ))
                    })
                }),
                activities: &[::cruster::__private::ActivityDefinition {
                    name: "reserve",
                    origin: ::core::concat!(::core::module_path!(), "::ProcessOrder::reserve"),
                    input: <Vec<String> as ::cruster::Schema>::schema,
                    output: <u32 as ::cruster::Schema>::schema,
                    retry: ::cruster::__private::RetryPolicy {
                        retries: 3,
                        backoff: ::core::option::Option::Some(::cruster::__private::Backoff::__of(
                            true,
                            1_000_000_000,
                        )),
                        jitter: 0.0,
                    },
                    timeout: 30_000_000_000,
                    run: |attempt| {
                        ::cruster::__private::run_activity(
                            attempt,
                            |cx, input: Vec<String>| async move {
                                __ProcessOrderAttempt { cx }.reserve(input).await
                            },
                        )
                    },
                }],
                groups: &[<Payments as ::cruster::ActivityGroup>::ACTIVITIES],
                signals: &[],
                queries: &[],
                updates: &[],
                state: &[],
                attributes: &[],
                deferreds: &[],
                listen: ::core::option::Option::None,
            };
    }
};

cruster::module! { workflows: [ProcessOrder] }

#[test]
fn the_manifest_names_everything() {
    let manifest = MODULE.manifest();
    let activities: Vec<String> = manifest
        .activities
        .unwrap()
        .into_iter()
        .map(|a| a.name)
        .collect();
    assert_eq!(activities, ["Payments.charge", "reserve"]);
    assert_eq!(manifest.workflows.unwrap()[0].key, "function_raw");
}

#[test]
fn the_workflow_runs() {
    let run = Test::new(&MODULE).run::<ProcessOrder>(Order {
        id: "42".into(),
        cents: 300,
    });
    assert_eq!(run.result.unwrap(), "1:visa:300");
    assert_eq!(run.history.execution, "test/ProcessOrder/42");
    assert_eq!(
        run.history.steps(),
        [
            "activity reserve",
            "sleep 3600s",
            "activity Payments.charge"
        ]
    );
    // One retry after a second, and the sleep.
    assert_eq!(run.history.duration(), Duration::from_secs(3601));
    run.history.replay().unwrap();
}
