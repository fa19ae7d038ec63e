//! Deferreds: declared, typed, and with names that are made while a workflow runs.

use cruster::prelude::*;
use cruster::testing::{Finished, Test};
use cruster::wire::DeferredInfo;
use cruster::{Value, Workflow};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Schema)]
pub struct Ruling {
    approved: bool,
    #[serde(default)]
    note: String,
}

const RULED: Deferred<Ruling> = Deferred::new("ruled");
const APPROVALS: DynamicDeferred<Ruling> = DynamicDeferred::new("approve-");
/// As [`RULED`], for another type.
const ANYTHING: Deferred<Value> = Deferred::new("ruled");
const OTHER: Deferred<bool> = Deferred::new("other");

fn ruling(approved: bool) -> Ruling {
    Ruling {
        approved,
        note: String::new(),
    }
}

/// Waits for the votes of all its members, by names that it is given.
#[workflow]
pub struct Committee;

#[workflow_impl(deferreds(RULED, APPROVALS), key = |members: &Vec<String>| members.join("-"), hash = false)]
impl Committee {
    async fn execute(&self, members: Vec<String>) -> Result<u32, Error> {
        let mut votes = 0;
        for member in &members {
            votes += u32::from(self.await_deferred(APPROVALS.named(member)).await?.approved);
        }
        Ok(votes)
    }
}

/// Settles deferreds of another execution, and tells the outcome.
#[workflow]
pub struct Settler;

#[workflow_impl]
impl Settler {
    async fn execute(&self, _: ()) -> Result<Vec<String>, Error> {
        let id = Committee::client(self)
            .start(vec!["ada".to_owned()])
            .await?;
        let ada = Deferred::<bool>::named("approve-ada");
        let all = [
            self.resolve_deferred_in(&id, OTHER, true).await,
            self.reject_deferred_in(&id, OTHER, Error::new("no", "no"))
                .await,
            self.resolve_deferred_in(&id, ada, true).await,
            self.resolve_deferred_in(&id, APPROVALS.named("ada"), ruling(true))
                .await,
        ];
        let told = |settled: Result<bool, Error>| match settled {
            Ok(first) => first.to_string(),
            Err(error) => format!("{} {}", error.code(), error.message()),
        };
        Ok(all.into_iter().map(told).collect())
    }
}

/// Takes anything, as modules of before did, and then wants a ruling.
#[workflow]
pub struct Trusting;

#[workflow_impl(deferreds(ANYTHING))]
impl Trusting {
    async fn execute(&self, _: ()) -> Result<Ruling, Error> {
        let ruled = self.await_deferred(RULED).await;
        if ruled.is_err() {
            // It must not come to this: the ruling was made.
            self.sleep(seconds(1)).await?;
        }
        ruled
    }
}

/// Uses a deferred that it does not list.
#[workflow]
pub struct Undeclared;

#[workflow_impl]
impl Undeclared {
    async fn execute(&self, settle: bool) -> Result<bool, Error> {
        match settle {
            true => self.resolve_deferred(OTHER, true).await,
            false => self.await_deferred(OTHER).await,
        }
    }
}

cruster::module! { workflows: [Committee, Settler, Trusting, Undeclared] }

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn committee(members: &[&str], test: impl FnOnce(Test) -> Test) -> Finished<u32> {
    let members = members.iter().map(|&m| m.to_owned()).collect();
    test(Test::new(&MODULE)).run::<Committee>(members)
}

#[test]
fn the_manifest_tells_of_them() {
    let manifest = MODULE.manifest();
    let workflows = manifest.workflows.unwrap();
    let of = |name: &str| {
        let workflow = workflows.iter().find(|w| w.name == name).unwrap();
        let list = workflow.deferreds.as_ref().expect("the list is there");
        let infos = list.iter().map(|d| d.body::<DeferredInfo>().unwrap());
        infos.map(|d| (d.name, d.dynamic)).collect::<Vec<_>>()
    };
    let declared = [("approve-", true), ("ruled", false)];
    assert_eq!(of("Committee"), declared.map(|(n, d)| (n.to_owned(), d)));
    assert_eq!(of("Settler"), []);
}

#[test]
fn names_are_made() {
    assert_eq!(APPROVALS.beginning(), "approve-");
    let bob = APPROVALS.named("bob");
    assert_eq!(bob.name(), "approve-bob");
    assert_eq!(
        format!("{bob:?} {APPROVALS:?}"),
        "Deferred(approve-bob) DynamicDeferred(approve-)"
    );
    let run = committee(&["ada", "bob"], |test| {
        test.resolve_after(seconds(1), APPROVALS.named("bob"), ruling(true))
            .resolve_after(seconds(2), APPROVALS.named("ada"), ruling(false))
    });
    assert_eq!(run.result.unwrap(), 1);
}

#[test]
#[should_panic(expected = "a deferred `approve-` needs a name that goes on")]
fn a_name_goes_on() {
    let _ = APPROVALS.named("");
}

#[test]
#[should_panic(expected = "may hold only letters")]
fn a_made_name_is_valid() {
    let _ = APPROVALS.named("no name");
}

#[test]
#[should_panic(expected = "must have 1 to 128 bytes")]
fn a_made_name_is_short() {
    let _ = APPROVALS.named(&"x".repeat(121));
}

#[test]
fn the_longest_name() {
    let name = "x".repeat(120);
    assert_eq!(APPROVALS.named(&name).name(), format!("approve-{name}"));
}

#[test]
fn the_refusals_of_a_host() {
    let run = Test::new(&MODULE).run::<Settler>(());
    let unknown = "CR-2043 workflow Committee has no deferred \"other\"";
    let misfit = "CR-2002 expected struct, got bool";
    assert_eq!(run.result.unwrap(), [unknown, unknown, misfit, "true"]);
}

#[test]
#[should_panic(expected = r#"no deferred "approved-ada"; did you mean "approve-*"?"#)]
fn how_names_begin_is_suggested() {
    const MISSPELT: Deferred<Ruling> = Deferred::new("approved-ada");
    let _ = committee(&["ada"], |test| {
        test.resolve_after(seconds(1), MISSPELT, ruling(true))
    });
}

#[test]
#[should_panic(expected = "the test settles the deferred other: CR-2043")]
fn a_test_that_resolves_what_is_not_there_is_mistaken() {
    let _ = committee(&["ada"], |test| test.resolve_after(seconds(1), OTHER, true));
}

#[test]
#[should_panic(expected = "the test settles the deferred other: CR-2043")]
fn a_test_that_rejects_what_is_not_there_is_mistaken() {
    let no = Error::new("no", "no");
    let _ = committee(&["ada"], |test| test.reject_after(seconds(1), OTHER, no));
}

#[test]
#[should_panic(expected = "CR-2002: unknown field \"aproved\"")]
fn a_test_that_resolves_with_what_does_not_fit_is_mistaken() {
    let value = Value::Map(vec![("aproved".into(), true.into())]);
    let _ = committee(&["ada"], |test| {
        test.resolve_after(seconds(1), ANYTHING, value)
    });
}

#[test]
fn code_does_not_go_on_with_what_does_not_fit() {
    let misfits = [
        Value::Nil,
        Value::Map(vec![("aproved".into(), true.into())]),
        Value::Map(vec![("approved".into(), Value::Nil)]),
        Value::Map(vec![("approved".into(), "yes".into())]),
    ];
    for value in misfits {
        let test = Test::new(&MODULE).resolve_after(seconds(1), ANYTHING, value);
        let run = test.run::<Trusting>(());
        let error = run.result.unwrap_err();
        assert_eq!(error.code(), "CR-4014", "{error}");
        assert!(error.hint().contains("Compare the types"), "{error}");
        assert_eq!(run.history.steps(), ["deferred ruled"]);
    }
    let dropped = Value::Map(vec![
        ("approved".into(), true.into()),
        ("at".into(), "noon".into()),
    ]);
    let test = Test::new(&MODULE).resolve_after(seconds(1), ANYTHING, dropped);
    assert_eq!(test.run::<Trusting>(()).result.unwrap(), ruling(true));
}

#[test]
#[should_panic(
    expected = "CR-4002: workflow Undeclared waits for deferred \"other\", which it does not accept"
)]
fn a_workflow_awaits_what_it_lists() {
    let _ = Test::new(&MODULE).run::<Undeclared>(false);
}

#[test]
#[should_panic(
    expected = "CR-4002: workflow Undeclared settles deferred \"other\", which it does not accept"
)]
fn a_workflow_settles_what_it_lists() {
    let _ = Test::new(&MODULE).run::<Undeclared>(true);
}

const ALL: DynamicDeferred<bool> = DynamicDeferred::new("approve-all-");

#[workflow]
pub struct OfBoth;

#[workflow_impl(deferreds(APPROVALS, ALL))]
impl OfBoth {
    async fn execute(&self, _: ()) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
#[should_panic(
    expected = "the workflow `OfBoth` lists the deferreds `approve-` and `approve-all-`, and a name could be one of both"
)]
fn a_name_has_one_type() {
    let definition = &<OfBoth as Workflow>::DEFINITION;
    let _ = cruster::Module::new(Box::leak(Box::new([definition])), &[], &[], &[], &[]);
}
